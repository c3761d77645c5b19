import {
  ceilingIngress,
  graphile,
  guideInRequest,
  insertOnly,
  millrace,
  millraceLedger,
  pgBoss,
  usual,
} from "../contenders.mjs";
import { measureIngress } from "../measure.mjs";
import { inTurn } from "../rounds.mjs";

const all = [
  ...[usual, millrace, millraceLedger, insertOnly, guideInRequest],
  ...[pgBoss, graphile, ceilingIngress],
];

export const ingress = {
  help: "deliveries that an ingress acknowledges",
  contenders: all,
  run: async (servers, contenders, { rounds, seconds }) => ({
    ingress: {
      title: `Ingress: 64 connections for ${seconds} s, no worker`,
      contenders: await inTurn(contenders, rounds, async (contender) =>
        measureIngress(await servers.fresh(), contender, { seconds }),
      ),
    },
  }),
};
