/**
 * What stands at the destination of one export, as far as this process knows: plan, records, manifest. Reads all of it when asked, and
 * writes the manifest; whoever searches writes records, and tells of them here.
 *
 * Invariant: what is known here stands there. The reverse need not hold, since others write there, too (E3).
 */
import { createHash } from 'node:crypto';
import { assert } from '../base/assert.ts';
import { crossing } from '../base/boundary.ts';
import type { Clock } from '../base/clock.ts';
import { type CommitRecord, readRecords, recordKey } from '../destination/commit-record.ts';
import { type Coverage, coverageOf } from '../destination/coverage.ts';
import { type Destination, longestSilenceMs } from '../destination/destination.ts';
import { type DigestVerdict, readVerdicts, settleVerdict } from '../destination/digest-verdict.ts';
import {
  checkDescription,
  checkWhole,
  encodeManifest,
  type Manifest,
  manifestOf,
  readManifest,
  removeStrays,
  writeManifest,
} from '../destination/manifest.ts';
import { type ExportPlan, readPlan, settlePlan } from '../destination/plan-object.ts';
import { checkFiles, type ListedFiles, listFiles } from '../destination/recorded-files.ts';
import { damaged } from '../destination/stored-json.ts';
import type { ExportTask } from './export-task.ts';
import type { StandingManifest } from './work-view.ts';

/** Enough for a quota or a disk to say that it is full, mostly. */
const probeBytes = 256 * 1_024;
/** With room for clocks that differ. */
const tidyDelayMs = longestSilenceMs + 60_000;

export class StandingExport {
  readonly destination: Destination;
  readonly #task: ExportTask;
  readonly #clock: Clock;
  readonly #records = new Map<string, CommitRecord>();
  #verdicts: readonly DigestVerdict[] = [];
  #plan: ExportPlan | undefined;
  #manifest: StandingManifest | undefined;
  #hasFailedToFinish = false;
  /** What is written to find out whether files can be, under one name however often. */
  #probe: string | undefined;
  #mayProbeStand = false;
  /** On the monotonic clock. */
  #tidyAtMs = Number.POSITIVE_INFINITY;

  constructor(destination: Destination, task: ExportTask, clock: Clock) {
    this.destination = destination;
    this.#task = task;
    this.#clock = clock;
  }

  /** Undefined while there is none. */
  get plan(): ExportPlan | undefined {
    return this.#plan;
  }

  /** Undefined while there is none. */
  get manifest(): StandingManifest | undefined {
    return this.#manifest;
  }

  /** In no order. */
  get records(): readonly CommitRecord[] {
    return [...this.#records.values()];
  }

  /** What digests have shown, in the order of their rounds. */
  get verdicts(): readonly DigestVerdict[] {
    return this.#verdicts;
  }

  /** The address of the export's folder. */
  get location(): string {
    return `${this.destination.url}/${this.#task.layout.folder}`;
  }

  /** Whether uploads that were silent for too short a time when all was read can be told from living ones by now. */
  get isUntidy(): boolean {
    return this.#tidyAtMs <= this.#clock.monotonic();
  }

  /** After how long it will be untidy; infinite where it is, or does not become so. */
  get tidyDelayMs(): number {
    return this.isUntidy || this.#manifest ? Number.POSITIVE_INFINITY : this.#tidyAtMs - this.#clock.monotonic();
  }

  /** Of a process elsewhere, as of the container before this one, only the age of its uploads tells that it has ended (E15). */
  async tidy(): Promise<void> {
    // Where that fails it is tried again as much later.
    this.#tidyAtMs = this.#clock.monotonic() + tidyDelayMs;
    await this.destination.abortLeftovers(this.#task.layout.folder, 'ofTheDead');
    this.#tidyAtMs = Number.POSITIVE_INFINITY;
  }

  /** Reads everything, after what uploads left that were broken off is gone (E15), as far as can be known so early. */
  async load(): Promise<void> {
    const { layout } = this.#task;
    await this.tidy();
    this.#tidyAtMs = this.#clock.monotonic() + tidyDelayMs;
    const manifest = await readManifest(this.destination, layout);
    if (manifest) return this.#believe(manifest);
    const plan = await readPlan(this.destination, layout);
    if (!plan) return;
    this.adopt(plan);
    await this.readRecords();
  }

  /** A plan that stands there, which has to be of the export's range. */
  adopt(plan: ExportPlan): void {
    const { layout, identity } = this.#task;
    const covered = rangeText(plan.boundariesMs[0], plan.boundariesMs.at(-1));
    const wanted = rangeText(identity.fromMs, identity.toMs);
    if (covered !== wanted) throw damaged({ name: layout.plan }, `it covers ${covered}, and the export ${wanted}`);
    this.#plan = plan;
  }

  /**
   * What was known before and stands there no longer is forgotten; `isDoubted`: what is known is read again, too. Whoever takes records
   * away may have taken the plan as well, by which whoever comes next would cut otherwise (E2): then it is written again.
   */
  async readRecords(isDoubted = false): Promise<void> {
    const { layout } = this.#task;
    const before = this.records;
    const known = isDoubted ? [] : this.#verdicts;
    this.#verdicts = [...known, ...(await readVerdicts(this.destination, layout, known.length))];
    const found = await readRecords(this.destination, layout, isDoubted ? [] : before);
    for (const record of before) this.#records.delete(recordKey(record));
    for (const record of found) this.keep(record);
    const plan = this.#plan;
    const isGone = before.some((record) => !this.#records.has(recordKey(record)));
    if (plan && (isDoubted || isGone)) {
      this.adopt(await crossing('export.plan', () => settlePlan(this.destination, layout, plan)));
    }
  }

  /** A record that stands there. */
  keep(record: CommitRecord): void {
    this.#records.set(recordKey(record), record);
  }

  /**
   * Writes what a digest has shown, or takes over what somebody else has written of that round. Files that are void from then on are
   * removed; those that cannot be removed go with the strays.
   */
  async judge(verdict: DigestVerdict): Promise<void> {
    const { layout } = this.#task;
    const standing = await crossing('export.proof', () => settleVerdict(this.destination, layout, verdict));
    if (this.#verdicts.length < standing.round) this.#verdicts = [...this.#verdicts, standing];
    assert(this.#plan !== undefined, 'an export is covered by a plan');
    const { voided } = coverageOf(this.#plan, this.records, this.#verdicts);
    const names = standing.segments.length === 0 ? [] : voided.flatMap(({ files }) => files.map(({ name }) => name));
    for (const name of names) await this.destination.remove(layout.within(name)).catch(() => {});
  }

  /**
   * Whether files can be written there, found out by one that is taken away again. Rejects with what is in the way. Where none can be
   * removed there is never more than one.
   */
  async probe(token: string): Promise<void> {
    this.#probe ??= this.#task.layout.within(`data/probe-${token}`);
    await this.#removeProbe(this.#probe);
    const upload = await this.destination.open(this.#probe);
    // Also where its writing fails.
    this.#mayProbeStand = true;
    try {
      await upload.write(Buffer.alloc(probeBytes));
      await upload.finish();
    } catch (error) {
      await upload.abort().catch(() => {});
      throw error;
    }
    await this.#removeProbe(this.#probe);
    // What could not be taken back while it failed.
    await this.destination.abortLeftovers(this.#task.layout.folder, 'ofTheDead');
  }

  async #removeProbe(name: string): Promise<void> {
    if (this.#mayProbeStand) await this.destination.remove(name);
    this.#mayProbeStand = false;
  }

  /**
   * Writes the manifest of what is covered as a whole, and removes what it does not name. Does neither where a person has removed records
   * since it failed: what they stood for is to be searched again.
   */
  async finish(coverage: Coverage): Promise<void> {
    const { layout, identity } = this.#task;
    let found = coverage;
    if (this.#hasFailedToFinish) {
      await this.readRecords();
      assert(this.#plan !== undefined, 'an export is covered by a plan');
      found = coverageOf(this.#plan, this.records, this.#verdicts);
      if (found.rest.length > 0 || found.strays.length > 0) return;
    }
    this.#hasFailedToFinish = true;
    const listed = await this.#listed();
    await checkFiles(this.destination, layout, found.intervals, listed);
    const ours = manifestOf(identity, found, this.#verdicts);
    const manifest = await crossing('export.manifest', () => writeManifest(this.destination, layout, ours));
    await this.#complete(manifest, listed, found.voided);
  }

  /** One that stands there, perhaps for long: people may have changed it, or taken away what it names. */
  async #believe(manifest: Manifest): Promise<void> {
    const { layout, identity } = this.#task;
    checkWhole(manifest, identity, layout);
    checkDescription(manifest, identity, layout);
    const listed = await this.#listed();
    await checkFiles(this.destination, layout, manifest.intervals, listed, layout.manifest);
    await this.#complete(manifest, listed, await this.#voided());
  }

  /** Of an export whose manifest stands: records of rounds that did not count. */
  async #voided(): Promise<readonly CommitRecord[]> {
    const { layout } = this.#task;
    const verdicts = await readVerdicts(this.destination, layout);
    if (verdicts.every(({ segments }) => segments.length === 0)) return [];
    const plan = await readPlan(this.destination, layout);
    return plan ? coverageOf(plan, await readRecords(this.destination, layout), verdicts).voided : [];
  }

  /** Once all is covered: uploads that still run are ended before, whoever writes them, so that none becomes a file that is not listed. */
  async #listed(): Promise<ListedFiles> {
    const { layout } = this.#task;
    await this.destination.abortLeftovers(layout.folder, 'all');
    return listFiles(this.destination, layout);
  }

  /** Also where the manifest stood there already: whoever wrote it may not have come to tidy up. Nothing goes that may count. */
  async #complete(manifest: Manifest, listed: ListedFiles, voided: readonly CommitRecord[]): Promise<void> {
    const { layout } = this.#task;
    await removeStrays(this.destination, layout, { intervals: manifest.intervals, voided }, listed);
    const sha256 = createHash('sha256').update(encodeManifest(manifest)).digest('hex');
    this.#manifest = { url: `${this.destination.url}/${layout.manifest}`, sha256, manifest };
  }
}

function rangeText(fromMs: number | undefined, toMs: number | undefined): string {
  return `${fromMs} to ${toMs}`;
}
