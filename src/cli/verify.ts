/**
 * `logfleet verify MANIFEST`: reads an export's files again and proves them against its manifest. It writes nothing, and needs the
 * files and the manifest alone, wherever they were taken.
 */

import { aborted } from '../base/aborted.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { LogfleetError } from '../base/errors.ts';
import { systemRandom } from '../base/random.ts';
import type { Destination } from '../destination/destination.ts';
import { ExportLayout } from '../destination/export-layout.ts';
import { openDestination } from '../destination/open-destination.ts';
import { readPlan } from '../destination/plan-object.ts';
import { type Verification, type VerifyProgress, verifyExport } from '../destination/verify.ts';
import { type CommandContext, exitStatus, type Output } from './context.ts';
import { exportPlace } from './manifest-place.ts';
import type { VerifyOptions } from './options.ts';
import { paintWith } from './render/palette.ts';
import { renderProgressBar } from './render/progress-bar.ts';
import { renderBytes } from './render/quantity.ts';
import { Screen } from './render/screen.ts';
import { renderVerification, verificationDocument } from './render/verification-view.ts';

/** Resolves to 1 where something differs or was kept although it is incomplete. */
export async function verifyCommand(text: string, options: VerifyOptions, context: CommandContext): Promise<number> {
  const settings = exportPlace(text, options, context);
  const ports = { clock: systemClock, random: systemRandom, environment: context.env };
  const destination = await openDestination(settings, ports);
  const progress = new VerifyView(context.stderr, systemClock);
  let verification: Verification | undefined;
  try {
    const verifying = verify(destination, (moment) => progress.show(moment));
    // A file that is being read when somebody interrupts may fail afterwards, which is nobody's concern then.
    verifying.catch(() => {});
    verification = await Promise.race([verifying, aborted(context.signal).then(() => undefined)]);
  } finally {
    progress.end();
    await destination.close();
  }
  if (!verification) return exitStatus.interrupted;
  const url = `${destination.url}/${layout.manifest}`;
  const { stdout } = context;
  if (options.output === 'json') {
    stdout.write(`${JSON.stringify(verificationDocument(url, verification), undefined, 2)}\n`);
  } else {
    const width = stdout.isTTY ? stdout.columns() : Number.POSITIVE_INFINITY;
    const lines = renderVerification(url, verification, { width, colour: stdout.colour });
    stdout.write(lines.map((line) => `${line}\n`).join(''));
  }
  const isProven = verification.differences.length === 0 && verification.manifest.complete;
  return isProven ? exitStatus.ok : exitStatus.failed;
}

/** The export's folder is the destination's root. */
const layout = new ExportLayout('');

/** `cli.incomplete` where there is a plan, and no manifest yet. */
async function verify(destination: Destination, onProgress: (progress: VerifyProgress) => void): Promise<Verification> {
  try {
    return await verifyExport(destination, layout, onProgress);
  } catch (error) {
    const isAbsent = error instanceof LogfleetError && error.code === 'destination.absent';
    if (!isAbsent || !(await readPlan(destination, layout))) throw error;
    const message = `the export in ${destination.url} is not complete: it has a plan and no manifest yet; let it go on first`;
    throw new LogfleetError({ code: 'cli.incomplete', message, handling: { kind: 'wait' } });
  }
}

/** Anything but a terminal hears of it so often. */
const lineIntervalMs = 10_000;
const widestBar = 40;

/** How much has been read: a bar on a terminal, else a line now and then. */
class VerifyView {
  readonly #output: Output;
  readonly #clock: Clock;
  readonly #screen: Screen | undefined;
  #toldAtMs: number;

  constructor(output: Output, clock: Clock) {
    this.#output = output;
    this.#clock = clock;
    this.#screen = output.isTTY ? new Screen(output) : undefined;
    this.#toldAtMs = clock.monotonic();
  }

  show({ files, bytes, totalFiles, totalBytes }: VerifyProgress): void {
    const said = `${files} of ${totalFiles} files read, ${renderBytes(bytes)} of ${renderBytes(totalBytes)}`;
    if (this.#screen) {
      const paint = paintWith(this.#output.colour);
      const width = Math.min(widestBar, this.#output.columns() - said.length - 3);
      this.#screen.draw([`${renderProgressBar(bytes / Math.max(1, totalBytes), width, paint)} ${said}`]);
    } else if (this.#clock.monotonic() - this.#toldAtMs >= lineIntervalMs) {
      this.#toldAtMs = this.#clock.monotonic();
      this.#output.write(`${said}\n`);
    }
  }

  end(): void {
    this.#screen?.draw([]);
    this.#screen?.end();
  }
}
