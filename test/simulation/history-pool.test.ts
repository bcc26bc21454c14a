/** Tests that the unexpected end of a worker thread stops only one simulation, and that its seed is reported. */
import { expect, test } from 'vitest';
import { countFrom, HistoryPool } from './history-pool.ts';

/** Returns the URL of a worker program. For seed 2, it runs the code `dies`, which ends the worker unexpectedly. */
function workerThat(dies: string): URL {
  const program = `
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ seed }) => {
      if (seed === 2) { ${dies}; }
      else parentPort.postMessage({ seed, violations: seed === 3 ? ['U1: broken'] : [], digest: '' });
    });`;
  return new URL(`data:text/javascript,${encodeURIComponent(program)}`);
}

test.each([
  { how: 'by an error', dies: "setImmediate(() => { throw new Error('too much') })", says: 'Error: too much' },
  { how: 'with an exit code', dies: 'process.exit(7)', says: 'its thread ended with code 7' },
])('a thread that ends $how', async ({ dies, says }) => {
  const pool = new HistoryPool({ threads: 1, worker: workerThat(dies) });
  const violated = await pool.run({ seeds: countFrom(1, 4) });
  await pool.close();
  expect(violated.map(({ seed }) => seed)).toEqual([2, 3]);
  expect(violated[0]?.violations).toEqual([expect.stringContaining(`the simulation ended with an error: ${says}`)]);
});

test('a simulation that never ends is stopped when it reaches its CPU time limit', async () => {
  const pool = new HistoryPool({ threads: 1, worker: workerThat('while (true)'), longestProcessorMs: 100 });
  const violated = await pool.run({ seeds: countFrom(1, 4) });
  await pool.close();
  expect(violated.map(({ seed }) => seed)).toEqual([2, 3]);
  expect(violated[0]?.violations).toEqual([expect.stringContaining('does not end within 0.1 s of processor time')]);
});
