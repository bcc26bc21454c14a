/**
 * `node test/simulation/run.ts --seeds N [--from S] [--threads N] [--trace]`: histories by their seeds. One seed with `--trace` is a replay
 * that tells all that happened.
 */
import { parseArgs } from 'node:util';
import { runHistory } from './history.ts';
import { planHistory } from './plan.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1' },
    from: { type: 'string', default: '1' },
    trace: { type: 'boolean', default: false },
  },
});

const from = Number(values.from);
const seeds = Number(values.seeds);
const trace = values.trace ? (line: string) => process.stdout.write(`${line}\n`) : undefined;
const begun = performance.now();
let failed = 0;
for (let seed = from; seed < from + seeds; seed++) {
  const { violations, digest, record } = await runHistory(planHistory(seed), trace);
  if (violations.length > 0) failed++;
  if (violations.length > 0 || seeds === 1) {
    process.stdout.write(`seed ${seed} ${digest} ended ${record.endMs / 1000}s posts ${record.posts.length} ${violations.length} violations\n`);
    for (const violation of violations.slice(0, 8)) process.stdout.write(`  ${violation}\n`);
  }
}
const elapsedMs = performance.now() - begun;
process.stdout.write(`${seeds - failed} held, ${failed} did not; ${Math.round((seeds / elapsedMs) * 60_000)} a minute\n`);
process.exitCode = failed === 0 ? 0 : 1;
