/**
 * Runs `logfleet run DIR --watch` with a faster clock, so that a rollout that would take hours takes minutes. Usage:
 * `node fast-operator.ts DIRECTORY SPEED`
 */
import { performance } from 'node:perf_hooks';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { keepHeapSmall } from '../../src/base/heap.ts';
import { createJsonLogger } from '../../src/base/json-log.ts';
import { PrometheusMetrics } from '../../src/base/prometheus-metrics.ts';
import { systemRandom } from '../../src/base/random.ts';
import { Operator } from '../../src/cli/operator/operator.ts';
import { createDirectoryHost } from '../../src/host/directory/directory-host.ts';
import { connectOverTls } from '../../src/service/connect.ts';

keepHeapSmall();
const [directory = '', speed = '1'] = process.argv.slice(2);
const times = Number(speed);
const startMs = Date.now();
const fastClock: Clock = {
  now: () => Math.floor(startMs + performance.now() * times),
  monotonic: () => performance.now() * times,
  after: (delayMs, callback) => systemClock.after(delayMs / times, callback),
};

const metrics = new PrometheusMetrics();
const log = createJsonLogger({ level: 'warn', output: { write: (line) => process.stderr.write(line) } });
const common = { clock: fastClock, random: systemRandom, log, metrics };
const host = await createDirectoryHost({ ...common, directories: [directory] });
const operator = new Operator({
  ...common,
  host,
  connect: connectOverTls({ ...common, userAgent: 'logfleet/bench', environment: {} }),
});
operator.start();
process.once('SIGTERM', async () => {
  await operator.stop();
  await host.close();
  process.exit();
});
