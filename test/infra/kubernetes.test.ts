import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { environmentSchema, readEnvironment } from "@millrace/core";
import { beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments, type Document } from "yaml";
import { createPageProject } from "../support/page-project.ts";
import { describeWith } from "../support/programs.ts";
import { readExample, timesToStop } from "./compose-file.ts";
import { ROOT } from "./context.ts";
import { parsePromql } from "./promql.ts";

const ROLES = ["ingress", "worker", "dashboard"];
const FOLDERS = ["base", "overlays/sentinel", "overlays/keda", "migrate"];
const CONTAINER = "spec.template.spec.containers.0";

function at(object: Document | undefined, path: string): string | undefined {
  const value = object?.getIn(path.split("."));
  return typeof value === "string" ? value : JSON.stringify(value);
}

describeWith("kubectl", "the manifests for Kubernetes", () => {
  const rendered = new Map<string, Document[]>();
  beforeAll(() => {
    for (const folder of FOLDERS) {
      const args = ["kustomize", join(ROOT, "infra/kubernetes", folder)];
      const text = execFileSync("kubectl", args, { encoding: "utf8" });
      rendered.set(folder, parseAllDocuments(text));
    }
  });
  const find = (folder: string, kind: string, name: string) =>
    rendered
      .get(folder)
      ?.find((one) => at(one, "kind") === kind && at(one, "metadata.name")?.startsWith(name));

  test("have only fields that the types of Kubernetes and KEDA have", async () => {
    const files = [...rendered].flatMap(([folder, objects]) =>
      objects.map((object, index) => [`${folder}/${index}.ts`, typed(object)] as const),
    );
    const project = await createPageProject(new Map(files));
    try {
      expect(await project.compile()).toEqual({ code: 0, output: "" });
    } finally {
      await project.remove();
    }
  });

  describe.each(FOLDERS.slice(0, 3))("%s", (folder) => {
    test.each(ROLES)("%s: its port, probes, variables, and time to stop", async (role) => {
      const port = environmentSchema.parse({})[`${role.toUpperCase()}_PORT` as "INGRESS_PORT"];
      const deployment = find(folder, "Deployment", role);
      const container = {
        args: [role],
        ports: [{ name: "http", containerPort: port }],
        livenessProbe: { httpGet: { path: "/healthz", port: "http" } },
        readinessProbe: { httpGet: { path: "/readyz", port: "http" } },
        envFrom: [{ secretRef: { name: `millrace-${role}` } }],
      };
      expect(deployment?.toJS()).toMatchObject({
        spec: {
          strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
          template: {
            metadata: { annotations: { "prometheus.io/port": String(port) } },
            spec: { containers: [container] },
          },
        },
      });
      const slept = Number(at(deployment, `${CONTAINER}.lifecycle.preStop.exec.command.1`) ?? 0);
      const grace = Number(at(deployment, "spec.template.spec.terminationGracePeriodSeconds"));
      const takesMs = (await timesToStop())[role] ?? Infinity;
      expect((grace - slept) * 1_000).toBeGreaterThan(takesMs);

      const env: Record<string, string> = await readExample(`env/${role}.env`);
      const key = at(deployment, `${CONTAINER}.env.1.valueFrom.secretKeyRef.key`);
      if (key !== undefined) {
        expect(at(deployment, `${CONTAINER}.env.2.name`)).toBe("REDIS_URL");
        const sentinels = at(find(folder, "ConfigMap", "millrace-sentinel"), "data.SENTINELS");
        env["REDIS_URL"] = String(at(deployment, `${CONTAINER}.env.2.value`))
          .replace("$(SENTINELS)", String(sentinels))
          .replace("$(REDIS_PASSWORD)", (await readExample("env/redis.env"))[key] ?? "@");
      }
      expect(readEnvironment(env).REDIS_URL?.startsWith("redis+sentinel:")).toBe(
        folder === "overlays/sentinel",
      );
    });

    test("two of each at least, one at a time is taken away, and only deliveries are public", () => {
      const scaler = find(folder, "HorizontalPodAutoscaler", "ingress");
      const scaled = ["spec.scaleTargetRef.name", "spec.minReplicas"];
      expect(scaled.map((path) => at(scaler, path))).toEqual(["ingress", "2"]);
      const fixed = ["ingress", "worker"].map((role) => find(folder, "Deployment", role));
      const workers = folder === "overlays/keda" ? undefined : "2";
      expect(fixed.map((one) => at(one, "spec.replicas"))).toEqual([undefined, workers]);
      for (const role of ["ingress", "worker"]) {
        const matchLabels = { "app.kubernetes.io/name": `millrace-${role}` };
        const spec = { maxUnavailable: 1, selector: { matchLabels } };
        expect(find(folder, "PodDisruptionBudget", role)?.toJS()).toMatchObject({ spec });
      }
      const paths = [{ path: "/webhooks/", pathType: "Prefix" }];
      const spec = { rules: [{ http: { paths } }] };
      expect(find(folder, "Ingress", "webhooks")?.toJS()).toMatchObject({ spec });
    });
  });

  test("every pod runs as an ordinary user who writes nowhere, without variables of Services", () => {
    const pods = [...rendered.values()].flat().flatMap((one) => at(one, "spec.template") ?? []);
    expect(pods).toHaveLength(10);
    for (const text of pods) {
      expect(text).toMatch(/"enableServiceLinks":false.*"runAsNonRoot":true/);
      const containers = text.match(/"image":/g)?.length ?? 0;
      expect(text.match(/"readOnlyRootFilesystem":true/g)).toHaveLength(containers);
    }
  });

  test("KEDA scales the workers by a metric of the alerts, and never to none", () => {
    const scaled = find("overlays/keda", "ScaledObject", "worker");
    expect(at(scaled, "spec.scaleTargetRef.name")).toBe("worker");
    expect(at(scaled, "spec.minReplicaCount")).toBe("2");
    const { selectors } = parsePromql(at(scaled, "spec.triggers.0.metadata.query") ?? "");
    // That an ingress exports it is held where the alerts are.
    const alerts = readFileSync(join(ROOT, "infra/prometheus/alerts.yml"), "utf8");
    expect(selectors.map(({ metric }) => alerts.includes(metric))).toEqual([true]);
  });

  test("migrate runs between the two runs of roles.sql, by the variables of the compose file", async () => {
    const job = find("migrate", "Job", "migrate");
    const steps = ["initContainers.0", "initContainers.1", "containers.0"];
    const step = (n: number, path: string) => at(job, `spec.template.spec.${steps[n]}.${path}`);
    expect([0, 1, 2].map((n) => step(n, "name"))).toEqual(["roles", "migrate", "grants"]);
    expect(step(2, "args.0")).toBe(step(0, "args.0"));
    const given = [await readExample("env/postgres.env"), await readExample("env/roles.env")];
    const known = ["POSTGRES_HOST", ...given.flatMap((file) => Object.keys(file))];
    const used = step(0, "args.0")?.match(/(?<=\$\{?)[A-Z_]+/g);
    expect(used?.length).toBeGreaterThan(3);
    expect(known).toEqual(expect.arrayContaining(used ?? []));
  });
});

function typed(object: Document): string {
  const [apiVersion = "", kind = ""] = [at(object, "apiVersion"), at(object, "kind")];
  const from = apiVersion.startsWith("keda") ? "@kubernetes-models/keda" : "kubernetes-models";
  return `import type { I${kind} } from "${from}/${apiVersion}/${kind}";
export const object: I${kind} = ${JSON.stringify(object.toJS())};
`;
}
