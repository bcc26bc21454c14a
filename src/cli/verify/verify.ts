/**
 * `logfleet verify MANIFEST`: checks the files of each export against the list in its `manifest.json`. It writes
 * nothing, and does not use the log service.
 */

import { unlessAborted } from '../../base/aborted.ts';
import { systemClock } from '../../base/clock.ts';
import { failure, hasCode, isExpected } from '../../base/errors.ts';
import { counted } from '../../base/number-text.ts';
import { systemRandom } from '../../base/random.ts';
import { ExportLayout } from '../../destination/export-layout.ts';
import { type Verification, type VerifyProgress, verifyExport } from '../../destination/export-verification.ts';
import { type DestinationSettings, openDestination } from '../../destination/open-destination.ts';
import { readPlan } from '../../destination/plan-object.ts';
import type { Destination } from '../../destination/store/destination.ts';
import { Writer } from '../../destination/store/writer.ts';
import { type CommandContext, exitStatus } from '../command/context.ts';
import type { VerifyOptions } from '../command/options.ts';
import { printable, renderBytes } from '../render/text.ts';
import { placesOfExports, renderUnread } from './manifest-place.ts';
import { progressView } from './progress-view.ts';
import { renderVerification, verificationDocument } from './verification-view.ts';

/**
 * Runs `logfleet verify`. Resolves to 1 if any export differs from its manifest or is incomplete, or if a folder cannot
 * be read.
 */
export async function verifyCommand(text: string, options: VerifyOptions, context: CommandContext): Promise<number> {
  const { stdout, stderr } = context;
  const { places, unread } = placesOfExports(text, options, context);
  const isOne = places.length === 1 && unread.length === 0;
  const results: VerifyResult[] = [];
  for (const [index, place] of places.entries()) {
    const result = await resultOf(place, context, isOne);
    results.push(result);
    if (options.output === 'json') continue;
    if (result.problem !== undefined) stderr.write(`logfleet verify: ${printable(result.problem)}\n`);
    else {
      const lines = index > 0 ? ['', ...result.lines] : result.lines;
      stdout.write(lines.map((line) => `${line}\n`).join(''));
    }
  }
  const notProven = results.filter(({ isProven }) => !isProven).map(({ url }) => url);
  const isProven = notProven.length === 0 && unread.length === 0;
  if (options.output === 'json') {
    const documents = results.map(({ document }) => document);
    const document = isOne ? documents[0] : { proven: isProven, exports: documents, unreadFolders: unread };
    stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
  } else if (!isOne) {
    const verified = places.length - notProven.length;
    const counts = `${counted(places.length, 'export')}: ${verified} verified`;
    // The names of the failed exports are repeated at the end, because the reports are long.
    const which = notProven.length === 0 ? ', 0 not.' : `, ${notProven.length} not:\n${notProven.join('\n')}`;
    stdout.write(`\n${counts}${which}\n`);
    if (unread.length > 0) stderr.write(`logfleet verify: not all folders were verified${renderUnread(unread)}\n`);
  }
  return isProven ? exitStatus.ok : exitStatus.failed;
}

interface VerifyResult {
  readonly url: string;
  readonly isProven: boolean;
  readonly document: object;
  readonly lines: readonly string[];
  /** Problem that prevented the verification, if any. */
  readonly problem?: string;
}

/** Verifies one export. If a signal interrupts the command, rejects with the signal's reason. */
async function resultOf(place: DestinationSettings, context: CommandContext, isOne: boolean): Promise<VerifyResult> {
  const ports = { clock: systemClock, writer: await Writer.ours(systemRandom), environment: context.env };
  const destination = await openDestination(place, ports);
  const progress = progressView(context.stderr, systemClock);
  const url = `${destination.url}/${layout.manifest}`;
  try {
    const verifying = verify(destination, ({ files, bytes, totalFiles, totalBytes }) => {
      const read = `${renderBytes(bytes)} of ${renderBytes(totalBytes)}`;
      progress.show(bytes / Math.max(1, totalBytes), `${files} of ${totalFiles} files read, ${read}`);
    });
    const verification = await unlessAborted(context.signal, verifying);
    const { isTTY, colour, columns } = context.stdout;
    const width = isTTY ? columns() : Number.POSITIVE_INFINITY;
    return {
      url,
      isProven: verification.differences.length === 0 && verification.manifest.complete,
      document: verificationDocument(url, verification),
      lines: renderVerification(url, verification, { width, colour }),
    };
  } catch (error) {
    if (!isExpected(error)) throw error;
    // If the only export to verify is missing, the argument of the command is wrong, so the command fails with this
    // error. If there are several exports, the command continues with the others.
    if (isOne && !exportErrorCodes.has(error.code)) throw error;
    // Adds the address of the export, because the file names in the error message are relative to the export's folder.
    const problem = `${url}: ${error.message}`;
    return { url, isProven: false, document: { manifest: url, proven: false, problem }, lines: [], problem };
  } finally {
    progress.end();
    await destination.close();
  }
}

/**
 * Codes of errors that mean that the export's files are wrong. All other errors come from wrong arguments to the
 * command.
 */
const exportErrorCodes: ReadonlySet<string> = new Set(['destination.damaged', 'destination.frozen', 'cli.incomplete']);

const layout = new ExportLayout('');

/** Verifies one export. Throws the error `cli.incomplete` if the export has a plan but no manifest yet. */
async function verify(destination: Destination, onProgress: (progress: VerifyProgress) => void): Promise<Verification> {
  try {
    return await verifyExport(destination, layout, onProgress);
  } catch (error) {
    const isAbsent = hasCode(error, 'destination.absent');
    if (!isAbsent || !(await readPlan(destination, layout))) throw error;
    const message =
      'the export is not complete: it has a plan but no manifest yet. Verify the export after it has ended';
    throw failure('wait', 'cli.incomplete', message);
  }
}
