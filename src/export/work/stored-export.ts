/**
 * Plan, commit records and manifest at the destination of an export, as read or written by this process. Other
 * processes may have written more (E3).
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

/** Size of the probe file in bytes, usually enough to notice a full disk or quota. */
const probeBytes = 256 * 1_024;
/** Age in ms at which an unfinished upload counts as abandoned. Includes 60 s for clock differences. */
const tidyDelayMs = longestSilenceMs + 60_000;
/**
 * While commit records contradict each other, the destination is read repeatedly. Most readings read only new commit
 * records. After this number of readings, all commit records are read again.
 */
const readingsOfNames = 20;

/**
 * Whether the commit records in memory equal those at the destination. If not `current`, they are being read
 * (`reading`), another process may have written more (`old`), or a user may have changed some (`doubted`).
 */
export type RecordsState = 'current' | 'reading' | 'old' | 'doubted';

export class StoredExport {
  /** Plan of the export; undefined if there is none. */
  plan: ExportPlan | undefined;
  /** Manifest of the export; undefined if there is none. */
  manifest: StoredManifest | undefined;
  /** Results of comparing the written rows with the service. */
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
  /**
   * Monotonic time at which this process last found an object that another process wrote. Initially, the time at which
   * this process started.
   */
  othersSeenAtMs: number;
  /** Number of times that contradictory commit records were read again. */
  #readsInDisorder = 0;
  #hasFailedToFinish = false;
  /** Name of the probe file. The name stays the same, unless the store locks the file. */
  #probe: string | undefined;
  #mayProbeStand = false;
  /** Monotonic time of the next attempt to remove old uploads; infinite if there are none. */
  #tidyAtMs = Number.POSITIVE_INFINITY;

  /** `open` opens the destination without changing it. */
  constructor(open: () => Promise<Destination>, task: ExportTask, clock: Clock) {
    this.#open = open;
    this.#task = task;
    this.#clock = clock;
    this.othersSeenAtMs = clock.monotonic();
  }

  /**
   * `loading` until the destination is read, `planning` until there is a plan, `planned` until there is a manifest,
   * then `complete`.
   */
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

  get ageMs(): number {
    return this.#clock.monotonic() - this.#readAtMs;
  }

  get records(): readonly CommitRecord[] {
    return [...this.#records.values()];
  }

  /** URL of the export's folder; undefined before the destination is opened. */
  get location(): string | undefined {
    return this.#destination && `${this.#destination.url}/${this.#task.layout.folder}`;
  }

  /** Number of unneeded files that the store keeps locked. */
  get lockedFiles(): number {
    return this.#destination?.lockedFiles?.size ?? 0;
  }

  /** True if unfinished uploads of other processes are now old enough to be removed. */
  get isUntidy(): boolean {
    return this.#tidyAtMs <= this.#clock.monotonic();
  }

  /**
   * Time in ms until unfinished uploads are old enough to be removed. Infinite if there are none, or if they are
   * already old enough.
   */
  get tidyDelayMs(): number {
    return this.isUntidy || this.manifest ? Number.POSITIVE_INFINITY : this.#tidyAtMs - this.#clock.monotonic();
  }

  /**
   * Removes unfinished uploads of ended processes (E15). On other machines, only their age shows that a process has
   * ended.
   */
  async tidy(): Promise<void> {
    // The next attempt is scheduled before the removal, because the removal may fail.
    this.#tidyAtMs = this.#clock.monotonic() + tidyDelayMs;
    await this.destination.abortLeftovers(this.#task.layout.folder, 'ofTheDead');
    this.#tidyAtMs = Number.POSITIVE_INFINITY;
  }

  /** Opens and reads the destination, and removes uploads of ended processes (E15). */
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

  /** Uses the plan that is stored at the destination. Throws if the plan has another time range than the export. */
  adopt(plan: ExportPlan): void {
    const { layout, identity } = this.#task;
    const covered = rangeText(plan.boundariesMs[0], plan.boundariesMs.at(-1));
    const wanted = rangeText(identity.fromMs, identity.toMs);
    if (covered !== wanted) throw planKind.damaged(layout.plan, `it covers ${covered}, and the export ${wanted}`);
    this.plan = plan;
  }

  /** Requests a reading of new commit records. */
  recordsWritten(): void {
    if (this.#recordsState !== 'doubted') this.#recordsState = 'old';
  }

  /** Requests that all commit records are read again. */
  doubtRecords(): void {
    this.#recordsState = 'doubted';
  }

  /**
   * Schedules another reading of commit records that contradict each other. They are read at most once every
   * `stallRetryMs`.
   */
  recheckDisorder(): void {
    if (this.#recordsState !== 'current' || this.#clock.monotonic() - this.#readAtMs < stallRetryMs) return;
    this.#readsInDisorder++;
    // A user may have changed a commit record that was already read, so sometimes all commit records are read again.
    this.#recordsState = this.#readsInDisorder % readingsOfNames === 0 ? 'doubted' : 'old';
  }

  /**
   * Reads the commit records. If a commit record has disappeared, the plan may be missing, too, so it is written again
   * (E2).
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
    // Another process wrote a commit record meanwhile, so the commit records are read again.
    if (this.recordsState === 'reading') this.#recordsState = 'current';
  }

  /** Adds a commit record that exists at the destination. */
  keep(record: CommitRecord): void {
    this.#records.set(recordKey(record), record);
  }

  /** Stores the result of a comparison, and removes the files of invalid commit records. */
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
   * Writes and removes a probe file to test the destination. Rejects with the destination's error if the test fails.
   */
  async probe(token: string): Promise<void> {
    if (this.#probe !== undefined) await this.#removeProbe(this.#probe);
    const name = this.#probe ?? this.#task.layout.within(`data/probe-${token}`);
    this.#probe = name;
    const upload = await this.destination.open(name, 'temporary');
    // The probe file may exist even if writing failed.
    this.#mayProbeStand = true;
    try {
      await upload.write(Buffer.alloc(probeBytes));
      await upload.finish();
    } catch (error) {
      await upload.abort().catch(() => {});
      throw error;
    }
    await this.#removeProbe(name);
    // Removes uploads that could not be removed before.
    await this.destination.abortLeftovers(this.#task.layout.folder, 'ofTheDead');
  }

  async #removeProbe(name: string): Promise<void> {
    if (this.#mayProbeStand) await this.destination.remove(name);
    this.#mayProbeStand = false;
    if (this.destination.lockedFiles?.has(name)) this.#probe = undefined;
  }

  /** Writes the manifest when the whole time range is exported, and removes unneeded files. */
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

  /** Checks an existing manifest. Users may have changed it or removed files. */
  async #believe(manifest: Manifest): Promise<void> {
    const { layout, identity } = this.#task;
    checkManifest(manifest, identity, layout);
    const listed = await this.#listed();
    await checkFiles(this.destination, layout, manifest.intervals, listed, layout.manifest);
    await this.#complete(manifest, listed, await this.#voided());
  }

  /**
   * Returns the commit records that became invalid. A comparison with the service found differences in their intervals,
   * so these intervals were searched again.
   */
  async #voided(): Promise<readonly CommitRecord[]> {
    const { layout } = this.#task;
    const verdicts = await readVerdicts(this.destination, layout);
    if (verdicts.every(({ segments }) => segments.length === 0)) return [];
    const plan = await readPlan(this.destination, layout);
    return plan ? coverageOf(plan, await readRecords(this.destination, layout), verdicts).voided : [];
  }

  /** Removes all unfinished uploads, then lists the files of the export. */
  async #listed(): Promise<ListedFiles> {
    const { layout } = this.#task;
    await this.destination.abortLeftovers(layout.folder, 'all');
    return listFiles(this.destination, layout);
  }

  /**
   * Removes files that no commit record names, and then uses the existing manifest. These files remain if an earlier
   * process ended after it wrote the manifest.
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
