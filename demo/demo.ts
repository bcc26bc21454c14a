/**
 * Demo of `logfleet run` with a policy and simulated collectors.
 *
 * The first target version makes collectors stop sending messages, so the canary stage stops the rollout. The demo then
 * changes the target, and the second rollout completes. Finally, the demo exports and verifies messages.
 *
 * The operator runs in the demo's own process, and the simulator runs in a separate process.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CollectorVersionPolicy } from '../src/api/kinds.ts';
import { type CommandContext, exitStatus } from '../src/cli/command/context.ts';
import { runProgram } from '../src/cli/program.ts';
import { paintWith } from '../src/cli/render/paint.ts';
import { renderExportIntroduction, renderIntroduction, renderReport, renderStop, renderSuggestions } from './report.ts';
import { DemoService } from './simulated-service.ts';

const scenario = 'demo/scenario.yaml';
const policyName = 'production';
const exportTemplate = 'demo/exports/export.yaml';
const exportedMs = 15 * 60_000;
/** Target versions of the policy. The demo begins with the version `quiet`, and then changes the manifest to `good`. */
const targets = { quiet: '19.480-2', good: '19.500-1' } as const;
/**
 * Value of the flag `--grace`: maximum time until the service lists a collector with its new version. A short time is
 * safe here, because the simulator lists the new version immediately. With a real service, logfleet could upgrade a
 * collector twice if the time is too short.
 */
const grace = '1s';
/** Maximum duration of the demo, which usually takes two minutes. */
const longestRunMs = 600_000;

const checkout = fileURLToPath(new URL('..', import.meta.url));

/**
 * Runs the demo. Resolves to 0 when both rollouts and the export have ended, to 1 after the maximum time, or to 130
 * after a signal.
 */
export async function runDemo(context: CommandContext): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'logfleet-demo-'));
  const manifests = join(directory, 'manifests');
  cpSync(join(checkout, 'demo/manifests'), manifests, { recursive: true });
  const exports = join(directory, 'exports');
  mkdirSync(exports);
  const exportManifest = join(directory, 'export.yaml');
  writeExport(exportManifest);
  const journal = join(directory, 'requests.ndjson');
  const outOfTime = AbortSignal.timeout(longestRunMs);
  const signal = AbortSignal.any([context.signal, outOfTime]);
  const status = await withService(
    { ...context, signal },
    { directory, manifests, exports, exportManifest, journal },
  ).catch((error) => {
    if (!signal.aborted) throw error;
    return exitStatus.interrupted;
  });
  if (context.signal.aborted) {
    rmSync(directory, { recursive: true });
    context.stderr.write('The demo and its simulated service have ended.\n');
    return exitStatus.interrupted;
  }
  if (outOfTime.aborted) {
    context.stderr.write(
      `Stopped after ${longestRunMs / 1000} s, before the demo had finished. Check the load on this machine.\n`,
    );
    return exitStatus.failed;
  }
  return status;
}

interface Places {
  readonly directory: string;
  readonly manifests: string;
  /** Folder in which the demo exports messages. */
  readonly exports: string;
  readonly exportManifest: string;
  readonly journal: string;
}

async function withService(
  context: CommandContext,
  { directory, manifests, exports, exportManifest, journal }: Places,
): Promise<number> {
  const { stdout, signal } = context;
  const paint = paintWith(stdout.colour);
  const service = await DemoService.start({ scenario: join(checkout, scenario), journal, signal });
  try {
    const before = await service.state();
    stdout.write(`${renderIntroduction(before, scenario).join('\n')}\n\n`);
    // The demo ignores the user's environment variables.
    const env = service.variables();
    const args = ['run', manifests, '--grace', grace, '--log-level', 'error', '--log-format', 'text'];
    const run = () => runProgram(args, { ...context, env, cwd: checkout });
    const first = await run();
    if (first === exitStatus.ok) throw new Error(`the rollout of ${targets.quiet} was not stopped`);
    // The first run must fail, because the canary stage must stop the rollout.
    if (first !== exitStatus.failed || signal.aborted) return first;
    const stopped = { policy: await readPolicy(manifests, context), state: await service.state() };
    stdout.write(`\n${renderStop(stopped, targets.good, paint).join('\n')}\n\n`);
    changeTarget(join(manifests, 'policy.yaml'));
    const second = await run();
    if (second !== exitStatus.ok || signal.aborted) return second;
    stdout.write(`\n${renderExportIntroduction(exportManifest, paint).join('\n')}\n\n`);
    const status = await exportMessages({ ...context, env, cwd: checkout }, exportManifest, exports);
    const after = await service.state();
    const requests = await service.stop();
    if (status !== exitStatus.ok) return status;
    const found = { before, after, requests, policy: await readPolicy(manifests, context) };
    const width = stdout.isTTY ? stdout.columns() - 1 : Number.POSITIVE_INFINITY;
    const lines = [
      ...renderReport(found, width, paint),
      '',
      ...renderSuggestions({ directory, manifests, exports, exportManifest, name: policyName }, paint),
    ];
    stdout.write(`\n${lines.join('\n')}\n`);
    return status;
  } finally {
    await service.stop();
  }
}

async function exportMessages(context: CommandContext, manifest: string, exports: string): Promise<number> {
  // Hides the standard output of `logfleet export`, which is meant for other programs rather than for people.
  const quiet = { ...context, stdout: { ...context.stdout, write: () => {} } };
  const status = await runProgram(['export', manifest, '--volume', `exports=${exports}`], quiet);
  if (status !== exitStatus.ok) return status;
  context.stdout.write('\n');
  return runProgram(['verify', exports], context);
}

/** Writes the manifest of an export that covers 15 minutes of the previous day. */
function writeExport(file: string): void {
  const yesterdayMs = Date.now() - 24 * 60 * 60_000;
  const fromMs = yesterdayMs - (yesterdayMs % exportedMs);
  const time = (ms: number) => JSON.stringify(new Date(ms).toISOString().slice(0, 19));
  const range = `timeRange: {from: ${time(fromMs)}, to: ${time(fromMs + exportedMs)}, timeZone: UTC}`;
  writeFileSync(file, readFileSync(join(checkout, exportTemplate), 'utf8').replace(/timeRange: .*/, range));
}

/** Changes the target version in the manifest, as a user would with a commit. */
function changeTarget(file: string): void {
  const text = readFileSync(file, 'utf8');
  const lineOf = (version: string) => `target: {version: ${version}}`;
  if (!text.includes(lineOf(targets.quiet))) throw new Error(`${file} has no line ${lineOf(targets.quiet)}`);
  writeFileSync(file, text.replace(lineOf(targets.quiet), lineOf(targets.good)));
}

/** Reads the policy and its status from the directory. */
async function readPolicy(manifests: string, context: CommandContext): Promise<CollectorVersionPolicy> {
  let json = '';
  const stdout = {
    ...context.stdout,
    write: (text: string) => {
      json += text;
    },
  };
  const signal = new AbortController().signal;
  const args = ['get', 'cvp', policyName, '--dir', manifests, '-o', 'json'];
  const status = await runProgram(args, { ...context, stdout, signal, env: {} });
  if (status !== exitStatus.ok) throw new Error(`logfleet ${args.join(' ')} ended with status ${status}`);
  return JSON.parse(json) as CollectorVersionPolicy;
}
