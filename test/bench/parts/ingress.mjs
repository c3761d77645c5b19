import {
  graphile,
  insertOnly,
  millrace,
  millraceLedger,
  pgBoss,
  usual,
  usualWithRows,
} from "../contenders.mjs";
import { measureIngress, measurePipeline } from "../measure.mjs";
import { inTurn } from "../rounds.mjs";

export const ingress = {
  help: "deliveries that an ingress acknowledges",
  contenders: [...[usual, millrace, millraceLedger, insertOnly], ...[pgBoss, graphile]],
  run: async (servers, contenders, { rounds, seconds }) => ({
    ingress: {
      title: `Ingress: 64 connections for ${seconds} s, no worker`,
      contenders: await inTurn(contenders, rounds, async (contender) =>
        measureIngress(await servers.fresh(), contender, { seconds }),
      ),
    },
  }),
};

export const pipeline = {
  help: "deliveries to completed effects, with ingress and worker",
  contenders: [usualWithRows, millrace, millraceLedger, pgBoss, graphile],
  run: async (servers, contenders, { events = 10_000, ...options }) => ({
    pipeline: {
      title: `Pipeline: ${events} deliveries to completed effects, ingress and worker`,
      contenders: await inTurn(contenders, options.rounds, (contender) =>
        measurePipeline(servers, contender, { ...options, events }),
      ),
    },
  }),
};
