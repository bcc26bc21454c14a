/** `logfleet run`: runs the operator in a cluster or on directories of manifests. */
import { keepHeapSmall } from '../../base/heap.ts';
import { PrometheusMetrics } from '../../base/prometheus-metrics.ts';
import type { CommandContext } from '../command/context.ts';
import type { RunOptions } from '../command/options.ts';

export async function runCommand(
  dirs: readonly string[],
  options: RunOptions,
  context: CommandContext,
): Promise<number> {
  keepHeapSmall();
  const metrics = new PrometheusMetrics();
  metrics.collectProcessMetrics();
  // The client for API servers is slow to load, so it is imported only for runs in a cluster.
  if (dirs.length === 0) {
    const { runInCluster } = await import('./run-cluster.ts');
    return runInCluster(options, context, metrics);
  }
  const { runOnDirectories } = await import('./run-directory.ts');
  return runOnDirectories(dirs, options, context, metrics);
}
