/**
 * `node test/fuzz/page-scanner.ts [--cases N] [--seed SEED]` tests the result page scanner with N random pages, and
 * prints the seeds of failures. With `--cases 1`, it also prints the page.
 */
import { parseArgs } from 'node:util';
import { runTrial } from './page-scanner/trial.ts';

const { values } = parseArgs({
  options: { cases: { type: 'string', default: '1' }, seed: { type: 'string', default: '1' } },
});
const cases = Number(values.cases);
const first = Number(values.seed);
process.exitCode = (cases === 1 ? replay(first) : runMany()) ? 0 : 1;

function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}

function replay(seed: number): boolean {
  const { page, isPage, rows, violations } = runTrial(seed);
  tell(JSON.stringify(page.toString('latin1')));
  tell(`seed ${seed}: ${page.length} bytes, ${isPage ? 'a page' : 'no page'}, ${rows} rows`);
  for (const violation of violations) tell(violation);
  return violations.length === 0;
}

function runMany(): boolean {
  // Disables stack traces, because creating one for each invalid page would be slow.
  Error.stackTraceLimit = 0;
  const begunMs = performance.now();
  let wrong = 0;
  let pages = 0;
  let rows = 0;
  for (let seed = first; seed < first + cases; seed++) {
    const trial = runTrial(seed);
    if (trial.isPage) pages++;
    rows += trial.rows;
    if (trial.violations.length > 0) {
      wrong++;
      tell(`node test/fuzz/page-scanner.ts --seed ${seed}\n  ${trial.violations.slice(0, 2).join('\n  ')}`);
    }
    if ((seed - first + 1) % 100_000 === 0) tell(`${seed - first + 1} of ${cases}`);
  }
  const seconds = ((performance.now() - begunMs) / 1_000).toFixed(0);
  tell(
    `${cases - wrong} cases passed, ${wrong} failed; ${pages} valid pages, ${cases - pages} invalid pages, ${rows} rows; ${seconds} s`,
  );
  return wrong === 0;
}
