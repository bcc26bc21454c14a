/** Reads the alerts in `manifests/monitoring`, and tests them with promtool. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { type PromtoolResult, promtool } from './promtool.ts';

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const { spec } = parse(readFileSync(new URL('../../manifests/monitoring/alerts.yaml', import.meta.url), 'utf8')) as {
  readonly spec: { readonly groups: readonly { readonly rules: readonly AlertRule[] }[] };
};

export const alertRules = spec.groups.flatMap(({ rules }) => rules);

/** Returns the names of logfleet's metrics in a PromQL expression. */
export function metricsIn(expr: string): readonly string[] {
  return [...new Set(expr.match(/\blogfleet_\w+/g))];
}

/**
 * Values of each series in promtool notation. For example, `1x3` stands for 1 1 1 1, and `_x3` for three missing
 * values.
 */
export type InputSeries = Readonly<Record<string, string>>;

export interface AlertTest {
  readonly name: string;
  /** Interval between consecutive values in a series, such as `1m`. */
  readonly interval: string;
  /** Unix time of the first values, in seconds. */
  readonly startSeconds?: number;
  readonly series: InputSeries;
  readonly queries: readonly AlertQuery[];
}

export interface AlertQuery {
  /** Time from the first values until the query is evaluated, such as `90m`. */
  readonly at: string;
  readonly expr: string;
  /** Expected series, each with the value 1. */
  readonly expected: readonly string[];
}

/** PromQL query for the firing alerts, with all their labels. */
export const firing = 'ALERTS{alertstate="firing"}';

/** Returns a query that finds all alerts that fired in the last `range`, such as `1h`. */
export function firedWithin(range: string): string {
  return `count by (alertname) (max_over_time(${firing}[${range}])) ^ 0`;
}

/**
 * Runs promtool on all tests. For each test, promtool evaluates the alerts on the test's series, and compares the
 * results of the test's queries with the expected results.
 */
export function testAlerts(tests: readonly AlertTest[], evaluationInterval = '1m'): Promise<PromtoolResult> {
  return withRules((directory) => {
    const file = join(directory, 'tests.yaml');
    const content = {
      rule_files: ['rules.yaml'],
      evaluation_interval: evaluationInterval,
      tests: tests.map(({ name, interval, startSeconds, series, queries }) => ({
        name,
        interval,
        ...(startSeconds !== undefined && { start_timestamp: String(startSeconds) }),
        input_series: Object.entries(series).map(([key, values]) => ({ series: key, values })),
        promql_expr_test: queries.map(({ at, expr, expected }) => ({
          expr,
          eval_time: at,
          exp_samples: expected.map((labels) => ({ labels, value: 1 })),
        })),
      })),
    };
    writeFileSync(file, stringify(content, { lineWidth: 0 }));
    return promtool(['test', 'rules', file]);
  });
}

export function checkAlerts(): Promise<PromtoolResult> {
  return withRules((directory) => promtool(['check', 'rules', '--lint-fatal', join(directory, 'rules.yaml')]));
}

/** Calls a function with the path of a temporary folder, in which the file `rules.yaml` contains the alerts. */
async function withRules(use: (directory: string) => Promise<PromtoolResult>): Promise<PromtoolResult> {
  const directory = mkdtempSync(join(tmpdir(), 'logfleet-alerts-'));
  try {
    writeFileSync(join(directory, 'rules.yaml'), stringify(spec));
    return await use(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
