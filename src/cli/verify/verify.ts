/**
 * `logfleet verify MANIFEST`: reads the files of an export again and checks them against the manifest of the export.
 * For a folder with several exports, it verifies one after the other. It writes nothing, and needs only the files and
 * the manifest.
 */

import { aborted } from '../../base/aborted.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { failure, LogfleetError } from '../../base/errors.ts';
import { counted } from '../../base/number-text.ts';
import { systemRandom } from '../../base/random.ts';
import type { Destination } from '../../destination/destination.ts';
import { ExportLayout } from '../../destination/export-layout.ts';
import { type DestinationSettings, openDestination } from '../../destination/open-destination.ts';
import { readPlan } from '../../destination/plan-object.ts';
import { type Verification, type VerifyProgress, verifyExport } from '../../destination/verify.ts';
import { type CommandContext, exitStatus, type Output } from '../context.ts';
import type { VerifyOptions } from '../options.ts';
import { renderProgressBar } from '../render/bars.ts';
import { Screen } from '../render/screen.ts';
import { paintWith, renderBytes } from '../render/text.ts';
import { placesOfExports } from './manifest-place.ts';
import { problemDocument, renderVerification, verificationDocument } from './verification-view.ts';

/** Runs `logfleet verify`. Resolves to exit status 1 if any export differs from its manifest or is incomplete. */
export async function verifyCommand(text: string, options: VerifyOptions, context: CommandContext): Promise<number> {
  const places = placesOfExports(text, options, context);
  const isOne = places.length === 1;
  const documents: object[] = [];
  const notProven: string[] = [];
  for (const [index, place] of places.entries()) {
    const proof = await proofOf(place, context, isOne);
    if (!proof) return exitStatus.interrupted;
    if (!isProof(proof)) notProven.push(proof.url);
    if (options.output === 'json') documents.push(documentOf(proof));
    else if (proof.kind === 'problem') context.stderr.write(`logfleet verify: ${proof.message}\n`);
    else showProof(proof, context.stdout, index > 0);
  }
  const isProven = notProven.length === 0;
  if (options.output === 'json') {
    const document = isOne ? documents[0] : { proven: isProven, exports: documents };
    context.stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
  } else if (!isOne) {
    const counts = `${counted(places.length, 'export')}: ${places.length - notProven.length} proven`;
    // With several exports the reports are long, so the summary repeats the addresses of the failed exports.
    const which = isProven ? ', 0 not.' : `, ${notProven.length} not:\n${notProven.join('\n')}`;
    context.stdout.write(`\n${counts}${which}\n`);
  }
  return isProven ? exitStatus.ok : exitStatus.failed;
}

type Proof =
  | { readonly kind: 'read'; readonly url: string; readonly verification: Verification }
  /** Result for an export that could not be verified, because it is not complete or is damaged. */
  | { readonly kind: 'problem'; readonly url: string; readonly message: string };

/** Verifies one export. Returns undefined if a signal interrupts the verification. */
async function proofOf(
  place: DestinationSettings,
  context: CommandContext,
  isOne: boolean,
): Promise<Proof | undefined> {
  const ports = { clock: systemClock, random: systemRandom, environment: context.env };
  const destination = await openDestination(place, ports);
  const progress = new VerifyView(context.stderr, systemClock);
  const url = `${destination.url}/${layout.manifest}`;
  try {
    const verifying = verify(destination, (moment) => progress.show(moment));
    // After an interrupt, errors of files that are still being read are ignored.
    verifying.catch(() => {});
    const verification = await Promise.race([verifying, aborted(context.signal).then(() => undefined)]);
    return verification && { kind: 'read', url, verification };
  } catch (error) {
    if (!(error instanceof LogfleetError) || error.handling.kind === 'bug') throw error;
    // With several exports, the others are still verified. A single export that does not exist is an error of the command.
    if (isOne && !exportErrorCodes.has(error.code)) throw error;
    // Error messages name files relative to the folder of the export, so the address of the folder is added.
    return { kind: 'problem', url, message: `${url}: ${error.message}` };
  } finally {
    progress.end();
    await destination.close();
  }
}

/** Codes of errors that concern the export itself, not the arguments of the command. */
const exportErrorCodes: ReadonlySet<string> = new Set(['destination.damaged', 'destination.frozen', 'cli.incomplete']);

function isProof(proof: Proof): boolean {
  if (proof.kind === 'problem') return false;
  return proof.verification.differences.length === 0 && proof.verification.manifest.complete;
}

function documentOf(proof: Proof): object {
  if (proof.kind === 'problem') return problemDocument(proof.url, proof.message);
  return verificationDocument(proof.url, proof.verification);
}

function showProof(
  { url, verification }: Extract<Proof, { readonly kind: 'read' }>,
  stdout: Output,
  followsAnother: boolean,
): void {
  const width = stdout.isTTY ? stdout.columns() : Number.POSITIVE_INFINITY;
  const lines = renderVerification(url, verification, { width, colour: stdout.colour });
  stdout.write([...(followsAnother ? [''] : []), ...lines].map((line) => `${line}\n`).join(''));
}

/** Names of the export's files, relative to the folder of the export. */
const layout = new ExportLayout('');

/** Verifies one export. Throws `cli.incomplete` if the folder contains a plan but no manifest. */
async function verify(destination: Destination, onProgress: (progress: VerifyProgress) => void): Promise<Verification> {
  try {
    return await verifyExport(destination, layout, onProgress);
  } catch (error) {
    const isAbsent = error instanceof LogfleetError && error.code === 'destination.absent';
    if (!isAbsent || !(await readPlan(destination, layout))) throw error;
    const message =
      'the export is not complete: it has a plan but no manifest yet. Verify it once the export has ended';
    throw failure('wait', 'cli.incomplete', message);
  }
}

/** Interval in ms of progress lines on outputs without a terminal. */
const lineIntervalMs = 10_000;
const widestBar = 40;

/** Shows how much of the export's files has been read: a bar on a terminal, otherwise a line from time to time. */
class VerifyView {
  readonly #output: Output;
  readonly #clock: Clock;
  readonly #screen: Screen | undefined;
  #reportedAtMs: number;

  constructor(output: Output, clock: Clock) {
    this.#output = output;
    this.#clock = clock;
    this.#screen = output.isTTY ? new Screen(output) : undefined;
    this.#reportedAtMs = clock.monotonic();
  }

  show({ files, bytes, totalFiles, totalBytes }: VerifyProgress): void {
    const text = `${files} of ${totalFiles} files read, ${renderBytes(bytes)} of ${renderBytes(totalBytes)}`;
    if (this.#screen) {
      const paint = paintWith(this.#output.colour);
      const width = Math.min(widestBar, this.#output.columns() - text.length - 3);
      this.#screen.draw([`${renderProgressBar(bytes / Math.max(1, totalBytes), width, paint)} ${text}`]);
    } else if (this.#clock.monotonic() - this.#reportedAtMs >= lineIntervalMs) {
      this.#reportedAtMs = this.#clock.monotonic();
      this.#output.write(`${text}\n`);
    }
  }

  end(): void {
    this.#screen?.draw([]);
    this.#screen?.end();
  }
}
