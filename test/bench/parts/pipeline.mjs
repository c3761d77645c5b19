import {
  graphile,
  guideInRequest,
  millrace,
  millraceLedger,
  pgBoss,
  usual,
} from "../contenders.mjs";
import { measurePipeline } from "../measure.mjs";
import { inTurn } from "../rounds.mjs";

export const pipeline = {
  help: "deliveries to completed effects, with ingress and worker",
  contenders: [usual, millrace, millraceLedger, guideInRequest, pgBoss, graphile],
  run: async (servers, contenders, options) => {
    const { rounds, events = 10_000 } = options;
    return {
      pipeline: {
        title: `Pipeline: ${events} deliveries to completed effects, ingress and worker`,
        contenders: await inTurn(contenders, rounds, (contender) =>
          measurePipeline(servers, contender, { ...options, events }),
        ),
      },
    };
  },
};
