/**
 * The plan, commit records and manifest of one export at its destination, as far as this process has read them. This class reads them on
 * request and writes the manifest. Searches write the commit records and report them to this class.
 *
 * Invariant: all objects in this class exist at the destination. The destination may contain more, because other processes also write there
 * (E3). Only these objects show what is done, so the stage of the export follows from them.
 */
import { assert } from '../../base/assert.ts';
import { crossing } from '../../base/boundary.ts';
import type { Clock } from '../../base/clock.ts';
import { stallRetryMs } from '../../base/retry-delay.ts';
import { type CommitRecord, readRecords, recordKey } from '../../destination/commit-record.ts';
import { type Coverage, coverageOf } from '../../destination/coverage.ts';
import { type Destination, longestSilenceMs } from '../../destination/destination.ts';
import { type DigestVerdict, readVerdicts, settleVerdict } from '../../destination/digest-verdict.ts';
import {
  type Manifest,
  manifestKind,
  manifestOf,
  manifestSha256,
  readManifest,
  removeStrays,
  writeManifest,
} from '../../destination/manifest.ts';
import { checkManifest } from '../../destination/manifest-check.ts';
import { type ExportPlan, planKind, readPlan, settlePlan } from '../../destination/plan-object.ts';
import { checkFiles, type ListedFiles, listFiles } from '../../destination/recorded-files.ts';
import type { ExportTask } from '../search/export-task.ts';
import type { StoredManifest } from './work-view.ts';

/**
 * Size in bytes of the probe file that tests whether the destination can be written. It is usually large enough to
 * detect a full quota or disk.
 */
const probeBytes = 256 * 1_024;
/**
 * Delay in ms after which the age of an upload shows that its process has ended. It includes an allowance for clock
 * differences.
 */
const tidyDelayMs = longestSilenceMs + 60_000;
/**
 * Number of readings of contradictory commit records after which all records are read again. Usually only new records are read, because an
 * export may have ten thousand records.
 */
const readingsOfNames = 20;

/**
 * How well the commit records that this process has read match the destination.
 * - `old`: they have not been read since the plan was written, or another process has written records.
 * - `doubted`: records that were already read may have changed.
 * - `reading`: the records are being read.
 */
export type RecordsState = 'current' | 'reading' | 'old' | 'doubted';

export class StoredExport {
  /** Plan of the export; undefined if the destination has none. */
  plan: ExportPlan | undefined;
  /** Manifest of the export; undefined if the destination has none. */
  manifest: StoredManifest | undefined;
  /** Results of the digest comparisons stored at the destination, in the order of their rounds. */
  verdicts: readonly DigestVerdict[] = [];
  readonly #open: () => Promise<Destination>;
  readonly #task: ExportTask;
  readonly #clock: Clock;
  #destination: Destination | undefined;
  #isRead = false;
  readonly #records = new Map<string, CommitRecord>();
  #recordsState: RecordsState = 'old';
  /** Monotonic time at which the destination was last read. */
  #readAtMs = 0;
  /** Monotonic time at which an object of another process was last found; the start of this process before that. */
  othersSeenAtMs: number;
  /** Number of times that the commit records were read because they contradicted each other. */
  #readsInDisorder = 0;
  #hasFailedToFinish = false;
  /** Name of the probe file. All probes of this process use the same name, unless the store keeps the file locked. */
  #probe: string | undefined;
  #mayProbeStand = false;
  /** Monotonic time of the next attempt to remove uploads of processes that have ended; infinite if none are left. */
  #tidyAtMs = Number.POSITIVE_INFINITY;

  /** `open` opens the destination without changing anything. */
  constructor(open: () => Promise<Destination>, task: ExportTask, clock: Clock) {
    this.#open = open;
    this.#task = task;
    this.#clock = clock;
    this.othersSeenAtMs = clock.monotonic();
  }

  /** Stage of the export: `loading` until the destination is read, `planning` without a plan, `complete` with a manifest. */
  get stage(): 'loading' | 'planning' | 'planned' | 'complete' {
    if (!this.#isRead) return 'loading';
    if (this.manifest) return 'complete';
    return this.plan ? 'planned' : 'planning';
  }

  get destination(): Destination {
    assert(this.#destination !== undefined, 'the destination is opened before anything else');
    return this.#destination;
  }

  get recordsState(): RecordsState {
    return this.#recordsState;
  }

  /** Time in ms since the destination was last read. */
  get ageMs(): number {
    return this.#clock.monotonic() - this.#readAtMs;
  }

  /** Commit records of the export, in no particular order. */
  get records(): readonly CommitRecord[] {
    return [...this.#records.values()];
  }

  /** URL of the export's folder; undefined before the destination is opened. */
  get location(): string | undefined {
    return this.#destination && `${this.#destination.url}/${this.#task.layout.folder}`;
  }

  /** Number of files without a commit record that stay at the destination, because the store keeps them locked. */
  get lockedFiles(): number {
    return this.#destination?.lockedFiles?.size ?? 0;
  }

  /**
   * True if an upload that was recent at the first reading is now so old that its writer must have ended, so that it
   * can be removed.
   */
  get isUntidy(): boolean {
    return this.#tidyAtMs <= this.#clock.monotonic();
  }

  /** Time in ms until uploads that were recent at the first reading may be removed; infinite if they can be removed now or there are none. */
  get tidyDelayMs(): number {
    return this.isUntidy || this.manifest ? Number.POSITIVE_INFINITY : this.#tidyAtMs - this.#clock.monotonic();
  }

  /**
   * Aborts uploads of processes that have ended. If a process ran elsewhere, as in a former container, only the age of
   * its uploads shows that it has ended (E15).
   */
  async tidy(): Promise<void> {
    // If removing the uploads fails, it is tried again after the same delay.
    this.#tidyAtMs = this.#clock.monotonic() + tidyDelayMs;
    await this.destination.abortLeftovers(this.#task.layout.folder, 'ofTheDead');
    this.#tidyAtMs = Number.POSITIVE_INFINITY;
  }

  /**
   * Opens the destination, removes uploads of processes that have certainly ended (E15), then reads plan, records and manifest. Can be
   * called again after a failure.
   */
  async load(): Promise<void> {
    const { layout } = this.#task;
    this.#destination ??= await this.#open();
    if (!this.#isRead) {
      await this.tidy();
      this.#tidyAtMs = this.#clock.monotonic() + tidyDelayMs;
    }
    const manifest = await readManifest(this.destination, layout);
    const plan = manifest ? undefined : await readPlan(this.destination, layout);
    if (manifest) await this.#believe(manifest);
    if (plan) {
      this.adopt(plan);
      this.othersSeenAtMs = this.#clock.monotonic();
      await this.readRecords();
    }
    this.#readAtMs = this.#clock.monotonic();
    this.#isRead = true;
  }

  async close(): Promise<void> {
    await this.#destination?.close();
  }

  /** Uses a plan that exists at the destination. The plan must have the range of the export. */
  adopt(plan: ExportPlan): void {
    const { layout, identity } = this.#task;
    const covered = rangeText(plan.boundariesMs[0], plan.boundariesMs.at(-1));
    const wanted = rangeText(identity.fromMs, identity.toMs);
    if (covered !== wanted) throw planKind.damaged(layout.plan, `it covers ${covered}, and the export ${wanted}`);
    this.plan = plan;
  }

  /** Makes the next task read the commit records, because another process has written some. */
  recordsWritten(): void {
    if (this.#recordsState !== 'doubted') this.#recordsState = 'old';
  }

  /** Makes the next task read all commit records again, including those that were already read. */
  doubtRecords(): void {
    this.#recordsState = 'doubted';
  }

  /** Makes the next task read contradictory commit records again from time to time, because a user may have repaired them. */
  recheckDisorder(): void {
    if (this.#recordsState !== 'current' || this.#clock.monotonic() - this.#readAtMs < stallRetryMs) return;
    this.#readsInDisorder++;
    // A user may have repaired a record without changing its name.
    this.#recordsState = this.#readsInDisorder % readingsOfNames === 0 ? 'doubted' : 'old';
  }

  /**
   * Reads the commit records. Records that have disappeared from the destination are dropped. Records that may have changed are read again.
   * If a record may have changed or disappeared, the plan is written again: the plan may have disappeared too, and another process could
   * then write a different plan (E2).
   */
  async readRecords(): Promise<void> {
    const { layout } = this.#task;
    const before = this.records;
    const verdictsBefore = this.verdicts.length;
    const isDoubted = this.#recordsState === 'doubted';
    const known = isDoubted ? [] : this.verdicts;
    this.#recordsState = 'reading';
    try {
      this.verdicts = [...known, ...(await readVerdicts(this.destination, layout, known.length))];
      const found = await readRecords(this.destination, layout, isDoubted ? [] : before);
      const hasNew = found.some((record) => !this.#records.has(recordKey(record)));
      if (hasNew || this.verdicts.length > verdictsBefore) this.othersSeenAtMs = this.#clock.monotonic();
      for (const record of before) this.#records.delete(recordKey(record));
      for (const record of found) this.keep(record);
      const plan = this.plan;
      const isGone = before.some((record) => !this.#records.has(recordKey(record)));
      if (plan && (isDoubted || isGone)) {
        this.adopt(await crossing('export.plan', () => settlePlan(this.destination, layout, plan)));
      }
    } catch (error) {
      this.#recordsState = 'doubted';
      throw error;
    }
    this.#readAtMs = this.#clock.monotonic();
    // Records that another process wrote during the reading are read next.
    if (this.recordsState === 'reading') this.#recordsState = 'current';
  }

  /** Adds a commit record that exists at the destination. */
  keep(record: CommitRecord): void {
    this.#records.set(recordKey(record), record);
  }

  /**
   * Writes the verdict of a digest round, or uses the verdict that another process wrote for this round. The verdict
   * makes commit records void; their files are removed immediately. Other files without a commit record are removed at
   * the end of the export.
   */
  async judge(verdict: DigestVerdict): Promise<void> {
    const { layout } = this.#task;
    const existing = await crossing('export.proof', () => settleVerdict(this.destination, layout, verdict));
    if (this.verdicts.length < existing.round) this.verdicts = [...this.verdicts, existing];
    assert(this.plan !== undefined, 'an export is covered by a plan');
    const { voided } = coverageOf(this.plan, this.records, this.verdicts);
    const names = existing.segments.length === 0 ? [] : voided.flatMap(({ files }) => files.map(({ name }) => name));
    for (const name of names) await this.destination.remove(layout.within(name)).catch(() => {});
  }

  /**
   * Writes and removes a probe file to test whether the destination can be written. Rejects with the error that prevents writing. If the
   * removal fails, at most one probe file remains.
   */
  async probe(token: string): Promise<void> {
    if (this.#probe !== undefined) await this.#removeProbe(this.#probe);
    const name = this.#probe ?? this.#task.layout.within(`data/probe-${token}`);
    this.#probe = name;
    const upload = await this.destination.open(name, 'temporary');
    // The flag is set before the write, because even a failed write may leave a file.
    this.#mayProbeStand = true;
    try {
      await upload.write(Buffer.alloc(probeBytes));
      await upload.finish();
    } catch (error) {
      await upload.abort().catch(() => {});
      throw error;
    }
    await this.#removeProbe(name);
    // Uploads that could not be removed while the destination failed are removed now.
    await this.destination.abortLeftovers(this.#task.layout.folder, 'ofTheDead');
  }

  async #removeProbe(name: string): Promise<void> {
    if (this.#mayProbeStand) await this.destination.remove(name);
    this.#mayProbeStand = false;
    if (this.destination.lockedFiles?.has(name)) this.#probe = undefined;
  }

  /**
   * Writes the manifest when commit records cover the whole export, and removes files that the manifest does not list. Does nothing if a
   * user removed commit records after a failed attempt, because their rows must be searched again.
   */
  async finish(coverage: Coverage): Promise<void> {
    const { layout, identity } = this.#task;
    let found = coverage;
    if (this.#hasFailedToFinish) {
      await this.readRecords();
      assert(this.plan !== undefined, 'an export is covered by a plan');
      found = coverageOf(this.plan, this.records, this.verdicts);
      if (found.remaining.length > 0 || found.strays.length > 0) return;
    }
    this.#hasFailedToFinish = true;
    const listed = await this.#listed();
    await checkFiles(this.destination, layout, found.intervals, listed);
    const ours = manifestOf(identity, found, this.verdicts);
    const manifest = await crossing('export.manifest', () => writeManifest(this.destination, layout, ours));
    await this.#complete(manifest, listed, found.voided);
  }

  /** Checks an existing manifest before it is used. Users may have changed the manifest or removed its files. */
  async #believe(manifest: Manifest): Promise<void> {
    const { layout, identity } = this.#task;
    checkManifest(manifest, identity, layout);
    const listed = await this.#listed();
    await checkFiles(this.destination, layout, manifest.intervals, listed, layout.manifest);
    await this.#complete(manifest, listed, await this.#voided());
  }

  /** Commit records that a digest verdict has made void, for an export with a manifest. */
  async #voided(): Promise<readonly CommitRecord[]> {
    const { layout } = this.#task;
    const verdicts = await readVerdicts(this.destination, layout);
    if (verdicts.every(({ segments }) => segments.length === 0)) return [];
    const plan = await readPlan(this.destination, layout);
    return plan ? coverageOf(plan, await readRecords(this.destination, layout), verdicts).voided : [];
  }

  /** Lists the files of a completely covered export. All running uploads are removed first, so that no file appears after the listing. */
  async #listed(): Promise<ListedFiles> {
    const { layout } = this.#task;
    await this.destination.abortLeftovers(layout.folder, 'all');
    return listFiles(this.destination, layout);
  }

  /**
   * Removes files that no commit record lists, and then uses the manifest. An existing manifest is treated in the same way, because the
   * process that wrote it may have ended before the removal. Files that a commit record may list are kept.
   */
  async #complete(manifest: Manifest, listed: ListedFiles, voided: readonly CommitRecord[]): Promise<void> {
    const { layout } = this.#task;
    await removeStrays(this.destination, layout, { intervals: manifest.intervals, voided }, listed);
    const sha256 = manifestSha256(manifestKind.encode(manifest));
    this.manifest = { url: `${this.destination.url}/${layout.manifest}`, sha256, manifest };
  }
}

function rangeText(fromMs: number | undefined, toMs: number | undefined): string {
  return `${fromMs} to ${toMs}`;
}
