/**
 * The demo: a simulated fleet, a policy in a directory, and `logfleet run` on it, shown live. Its first target is a build that breaks
 * collectors, so that the canary stops the rollout; then the manifest names another, as a commit would, and `logfleet run` goes
 * through. Then `logfleet export` takes a day of messages, more than twice as many as one search gives, and `logfleet verify` proves the
 * files. In the end a table of what happened.
 *
 * Everything is the real thing, as `logfleet simulate` and `logfleet run` are: the simulator in a process of its own, the operator in
 * this one. The manifests are copied, so that the checkout stays clean; the copy is kept for the commands that are offered at the
 * end. Whatever happens, the simulator has ended when this has.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CollectorVersionPolicy } from '../src/api/kinds.ts';
import { type CommandContext, exitStatus } from '../src/cli/context.ts';
import { runProgram } from '../src/cli/program.ts';
import { paintWith } from '../src/cli/render/palette.ts';
import { renderExportIntroduction, renderIntroduction, renderReport, renderStop, renderSuggestions } from './report.ts';
import { SimulatedService } from './simulated-service.ts';

const scenario = 'demo/scenario.yaml';
const policyName = 'production';
const exportManifest = 'demo/exports/export.yaml';
/** What the manifest names, and what it is changed to. */
const targets = { broken: '19.480-2', good: '19.500-1' } as const;
/**
 * G is short here only because this simulator's lists show an effect at once. For a real service the default, a minute, is right:
 * with a shorter one an upgrade whose answer was lost might be posted twice.
 */
const grace = '2s';
/** On a machine so slow that the fleet is not there by now, the demo tells how far it came. */
const longestRunMs = 130_000;

const checkout = fileURLToPath(new URL('..', import.meta.url));

/** Resolves to the exit status: 0 when everything has settled, 1 when it took too long, 130 after a signal. */
export async function runDemo(context: CommandContext): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'logfleet-demo-'));
  const manifests = join(directory, 'manifests');
  cpSync(join(checkout, 'demo/manifests'), manifests, { recursive: true });
  const exports = join(directory, 'exports');
  mkdirSync(exports);
  const journal = join(directory, 'requests.ndjson');
  const outOfTime = AbortSignal.timeout(longestRunMs);
  const signal = AbortSignal.any([context.signal, outOfTime]);
  const status = await withService({ ...context, signal }, { directory, manifests, exports, journal }).catch(
    (error) => {
      if (!signal.aborted) throw error;
      return exitStatus.interrupted;
    },
  );
  if (context.signal.aborted) {
    rmSync(directory, { recursive: true });
    context.stderr.write('The demo has ended, and with it the service that it simulated.\n');
    return exitStatus.interrupted;
  }
  if (outOfTime.aborted) {
    context.stderr.write(
      `Stopped after ${longestRunMs / 1000} s, before everything had settled: is the machine busy?\n`,
    );
    return exitStatus.failed;
  }
  return status;
}

interface Places {
  readonly directory: string;
  readonly manifests: string;
  /** Where the files of the export go. */
  readonly exports: string;
  readonly journal: string;
}

async function withService(
  context: CommandContext,
  { directory, manifests, exports, journal }: Places,
): Promise<number> {
  const { stdout, signal } = context;
  const paint = paintWith(stdout.colour);
  const service = await SimulatedService.start({ scenario: join(checkout, scenario), journal, signal });
  try {
    const before = await service.state();
    stdout.write(`${renderIntroduction(before, scenario).join('\n')}\n\n`);
    // Nothing else of the environment: a proxy, or a flag that somebody keeps in LOGFLEET_…, is not meant for the demo.
    const env = service.variables();
    const args = ['run', manifests, '--grace', grace, '--log-level', 'error', '--log-format', 'text'];
    const run = () => runProgram(args, { ...context, env, cwd: checkout });
    const first = await run();
    if (first === exitStatus.ok) throw new Error(`nothing has stopped the rollout of ${targets.broken}`);
    // Status 1 is what it has to end with: the canary has stopped the rollout.
    if (first !== exitStatus.failed || signal.aborted) return first;
    const stopped = { policy: await readPolicy(manifests, context), state: await service.state() };
    stdout.write(`\n${renderStop(stopped, targets.good, paint).join('\n')}\n\n`);
    changeTarget(join(manifests, 'policy.yaml'));
    const second = await run();
    if (second !== exitStatus.ok || signal.aborted) return second;
    stdout.write(`\n${renderExportIntroduction(exportManifest, paint).join('\n')}\n\n`);
    const status = await exportDay({ ...context, env, cwd: checkout }, exports);
    const after = await service.state();
    const requests = await service.stop();
    if (status !== exitStatus.ok) return status;
    const found = { before, after, requests, policy: await readPolicy(manifests, context) };
    const width = stdout.isTTY ? stdout.columns() - 1 : Number.POSITIVE_INFINITY;
    const lines = [
      ...renderReport(found, width, paint),
      '',
      ...renderSuggestions({ directory, manifests, exports, name: policyName }, paint),
    ];
    stdout.write(`\n${lines.join('\n')}\n`);
    return status;
  } finally {
    await service.stop();
  }
}

/** As a person would type it. */
async function exportDay(context: CommandContext, exports: string): Promise<number> {
  // The address of the manifest goes to stdout, for programs; the folder is offered in the end.
  const quiet = { ...context, stdout: { ...context.stdout, write: () => {} } };
  const status = await runProgram(['export', exportManifest, '--volume', `exports=${exports}`], quiet);
  if (status !== exitStatus.ok) return status;
  context.stdout.write('\n');
  return runProgram(['verify', exports], context);
}

/** As a commit would. */
function changeTarget(file: string): void {
  const text = readFileSync(file, 'utf8');
  const lineOf = (version: string) => `target: {version: ${version}}`;
  if (!text.includes(lineOf(targets.broken))) throw new Error(`${file} does not say ${lineOf(targets.broken)}`);
  writeFileSync(file, text.replace(lineOf(targets.broken), lineOf(targets.good)));
}

/** As a person reads it afterwards. */
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
