import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { environmentSchema, readEnvironment } from "@millrace/core";
import { beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { createPageProject } from "../support/page-project.ts";
import { describeWith } from "../support/programs.ts";
import { readExample, timesToStop } from "./compose-file.ts";
import { ROOT } from "./context.ts";
import { parsePromql } from "./promql.ts";

interface Container {
  readonly name: string;
  readonly args: readonly string[];
  readonly envFrom: readonly { readonly secretRef: { readonly name: string } }[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef?: { readonly key: string } };
  }[];
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: string[] } } };
}
interface PodSpec {
  readonly initContainers?: readonly Container[];
  readonly containers: readonly [Container];
  readonly terminationGracePeriodSeconds: number;
}
interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data: Readonly<Record<string, string>>;
  readonly spec: { readonly replicas?: number; readonly template: { readonly spec: PodSpec } };
}

const ROLES = ["ingress", "worker", "dashboard"];
const FOLDERS = ["base", "overlays/sentinel", "overlays/keda", "migrate"];

function render(folder: string): Rendered[] {
  const text = execFileSync("kubectl", ["kustomize", join(ROOT, "infra/kubernetes", folder)]);
  return parseAllDocuments(text.toString()).map((document) => document.toJS() as Rendered);
}

describeWith("kubectl", "the manifests for Kubernetes", () => {
  const rendered = new Map<string, Rendered[]>();
  beforeAll(() => {
    for (const folder of FOLDERS) rendered.set(folder, render(folder));
  });
  const objectOf = (folder: string, kind: string, name: string) =>
    rendered
      .get(folder)
      ?.find((one) => one.kind === kind && one.metadata.name === name) as Rendered;

  test("have only fields that the schemas of Kubernetes and KEDA know", async () => {
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
    test.each(ROLES)("%s: its port, probes, secrets, and time to stop", async (role) => {
      const port = environmentSchema.parse({})[`${role.toUpperCase()}_PORT` as "INGRESS_PORT"];
      const { spec } = objectOf(folder, "Deployment", role);
      const [container] = spec.template.spec.containers;
      expect(spec).toMatchObject({
        strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
        template: { metadata: { annotations: { "prometheus.io/port": String(port) } } },
      });
      expect(container).toMatchObject({
        args: [role],
        ports: [{ name: "http", containerPort: port }],
        livenessProbe: { httpGet: { path: "/healthz", port: "http" } },
        readinessProbe: { httpGet: { path: "/readyz", port: "http" } },
        envFrom: [{ secretRef: { name: `millrace-${role}` } }],
      });
      const [, slept = "0"] = container.lifecycle?.preStop.exec.command ?? [];
      const graceMs = (spec.template.spec.terminationGracePeriodSeconds - Number(slept)) * 1_000;
      expect(graceMs).toBeGreaterThan((await timesToStop())[role] ?? Infinity);
      const env = { ...(await readExample(`env/${role}.env`)), ...(await variablesOf(container)) };
      expect(() => readEnvironment(env)).not.toThrow();
      expect(env["REDIS_URL"]).toMatch(
        folder.endsWith("sentinel") ? /^redis\+sentinel:/ : /^redis:/,
      );
    });

    test("two of each at least, one at a time is taken away, and only deliveries are public", () => {
      expect(objectOf(folder, "Ingress", "webhooks").spec).toMatchObject({
        rules: [{ http: { paths: [{ path: "/webhooks/", pathType: "Prefix" }] } }],
      });
      expect(objectOf(folder, "HorizontalPodAutoscaler", "ingress").spec).toMatchObject({
        minReplicas: 2,
        scaleTargetRef: { kind: "Deployment", name: "ingress" },
      });
      const scaled = folder === "overlays/keda" ? undefined : 2;
      expect(objectOf(folder, "Deployment", "ingress").spec.replicas).toBeUndefined();
      expect(objectOf(folder, "Deployment", "worker").spec.replicas).toBe(scaled);
      for (const role of ["ingress", "worker"]) {
        const matchLabels = { "app.kubernetes.io/name": `millrace-${role}` };
        const budget = { maxUnavailable: 1, selector: { matchLabels } };
        expect(objectOf(folder, "PodDisruptionBudget", role).spec).toEqual(budget);
      }
    });
  });

  test("every container runs as an ordinary user who writes nowhere", () => {
    const pods = [...rendered.values()].flat().flatMap(({ spec }) => spec?.template?.spec ?? []);
    expect(pods).toHaveLength(10);
    for (const pod of pods) {
      // A Service named ingress would set INGRESS_PORT to an address.
      const links = { enableServiceLinks: false, automountServiceAccountToken: false };
      expect(pod).toMatchObject({ ...links, securityContext: { runAsNonRoot: true } });
      for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
        expect(container).toMatchObject({
          securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
        });
      }
    }
  });

  test("KEDA scales the workers by a metric that the ingresses export, and never to none", () => {
    const spec = objectOf("overlays/keda", "ScaledObject", "worker").spec as unknown as {
      minReplicaCount: number;
      triggers: { metadata: { query: string } }[];
    };
    expect(spec).toMatchObject({ scaleTargetRef: { name: "worker" }, minReplicaCount: 2 });
    const queries = spec.triggers.flatMap(({ metadata }) => parsePromql(metadata.query).selectors);
    // That an ingress exports it is held where the alerts are.
    const alerts = readFileSync(join(ROOT, "infra/prometheus/alerts.yml"), "utf8");
    expect(queries.map(({ metric }) => alerts.includes(metric))).toEqual([true]);
  });

  test("migrate runs between the two runs of roles.sql, by the variables of the compose file", async () => {
    const pod = objectOf("migrate", "Job", "migrate").spec.template.spec;
    const { initContainers = [], containers } = pod;
    const steps = [...initContainers, ...containers];
    expect(steps.map(({ name }) => name)).toEqual(["roles", "migrate", "grants"]);
    const secrets = steps.map(({ envFrom }) => envFrom.map(({ secretRef }) => secretRef.name));
    const ofRoles = ["millrace-postgres", "millrace-roles"];
    expect(secrets).toEqual([ofRoles, ["millrace-migrate"], ofRoles]);
    const given = [await readExample("env/postgres.env"), await readExample("env/roles.env")];
    const known = ["POSTGRES_HOST", ...given.flatMap((file) => Object.keys(file))];
    const used = [...(steps[0]?.args[0] ?? "").matchAll(/\$\{?([A-Z_]+)/g)].map(([, name]) => name);
    expect(used.length).toBeGreaterThan(3);
    expect(known).toEqual(expect.arrayContaining(used));
  });

  async function variablesOf({ env = [] }: Container): Promise<Record<string, string>> {
    const { data } =
      rendered
        .get("overlays/sentinel")
        ?.find(({ metadata }) => metadata.name.startsWith("millrace-sentinel-")) ?? {};
    const known: Record<string, string> = { ...(await readExample("env/redis.env")), ...data };
    const values: Record<string, string> = {};
    for (const { name, value, valueFrom } of env) {
      const key = valueFrom?.secretKeyRef?.key ?? name;
      const text = value ?? known[key] ?? "missing";
      values[name] = text.replaceAll(/\$\((\w+)\)/g, (_, other: string) => values[other] ?? "");
    }
    return values;
  }
});

function typed(object: Rendered): string {
  const { apiVersion, kind } = object;
  const from = apiVersion.startsWith("keda") ? "@kubernetes-models/keda" : "kubernetes-models";
  return `import type { I${kind} } from "${from}/${apiVersion}/${kind}";
export const object: I${kind} = ${JSON.stringify(object)};
`;
}
