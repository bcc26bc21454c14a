/**
 * Reads and writes an export's objects at its destination: plan, commit records, comparison results, and manifest. This
 * file keeps no object in memory: `work-state.ts` holds the objects that the process knows.
 */
import { assert } from '../../base/assert.ts';
import { crossing } from '../../base/boundary.ts';
import { type CommitRecord, readRecords, recordKey } from '../../destination/commit-record.ts';
import { type Coverage, coverageOf } from '../../destination/coverage.ts';
import { type DigestVerdict, readVerdicts, storeVerdictOnce } from '../../destination/digest-verdict.ts';
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
import { type ExportPlan, planKind, readPlan, storePlanOnce } from '../../destination/plan-object.ts';
import { checkFiles, type ListedFiles, listFiles } from '../../destination/recorded-files.ts';
import type { Destination } from '../../destination/store/destination.ts';
import type { ExportDefinition } from '../search/export-definition.ts';
import type { Exporting, RecordsReading, StoredObjects } from './work-state.ts';
import type { StoredManifest } from './work-view.ts';

/** Size of the probe file in bytes. It is usually large enough to detect a full disk or an exhausted quota. */
const probeBytes = 256 * 1_024;

/** Objects at the destination that a process already knows. */
type Known = Pick<Exporting, 'plan' | 'records' | 'verdicts'>;

export class StoredExport {
  readonly #open: () => Promise<Destination>;
  readonly #definition: ExportDefinition;
  #destination: Destination | undefined;
  /**
   * Name of the probe file, which is written to test the destination. The name changes only if the store locks the
   * file.
   */
  #probeName: string | undefined;
  /** True if the probe file may exist. */
  #mayProbeStand = false;

  /** `open` opens the destination without changing it. */
  constructor(open: () => Promise<Destination>, definition: ExportDefinition) {
    this.#open = open;
    this.#definition = definition;
  }

  get destination(): Destination {
    assert(this.#destination !== undefined, 'the destination has not been opened');
    return this.#destination;
  }

  /** URL of the export's folder; undefined until the destination has been opened. */
  get location(): string | undefined {
    return this.#destination && `${this.#destination.url}/${this.#definition.layout.folder}`;
  }

  /** Number of unneeded files that cannot be removed yet, because the store has locked them. */
  get lockedFiles(): number {
    return this.#destination?.lockedFiles?.size ?? 0;
  }

  /** Opens the destination, so that the other methods can use it. */
  async open(): Promise<void> {
    this.#destination ??= await this.#open();
  }

  async close(): Promise<void> {
    await this.#destination?.close();
  }

  /**
   * Removes the unfinished uploads of processes that have ended (E15). The uploads of a process on another machine are
   * removed when they are old, because only their age can show that the process has ended.
   */
  async abortOldUploads(): Promise<void> {
    await this.destination.abortLeftovers(this.#definition.layout.folder, 'endedProcesses');
  }

  /**
   * Tests the destination by writing and removing a probe file, and removes uploads that could not be removed before.
   * At most one probe file remains (E15).
   */
  async probe(token: string): Promise<void> {
    const { destination } = this;
    if (this.#probeName !== undefined) await this.#removeProbe(this.#probeName);
    const name = this.#probeName ?? this.#definition.layout.probe(token);
    this.#probeName = name;
    const upload = await destination.open(name, 'temporary');
    // The probe file may exist even if the write failed.
    this.#mayProbeStand = true;
    try {
      await upload.write(Buffer.alloc(probeBytes));
      await upload.finish();
    } catch (error) {
      await upload.abort().catch(() => {});
      throw error;
    }
    await this.#removeProbe(name);
    await this.abortOldUploads();
  }

  async #removeProbe(name: string): Promise<void> {
    if (this.#mayProbeStand) await this.destination.remove(name);
    this.#mayProbeStand = false;
    if (this.destination.lockedFiles?.has(name)) this.#probeName = undefined;
  }

  /** Reads all stored objects of the export. If there is an export manifest, verifies it and removes unneeded files. */
  async load(): Promise<StoredObjects> {
    const { layout } = this.#definition;
    const manifest = await readManifest(this.destination, layout);
    if (manifest) return { kind: 'manifest', manifest: await this.#checkExisting(manifest) };
    const stored = await readPlan(this.destination, layout);
    if (!stored) return { kind: 'nothing' };
    const plan = this.checkedPlan(stored);
    // The records are read before the verdicts, because a record can belong to a segment of a verdict that another
    // process has just stored.
    const records = await readRecords(this.destination, layout);
    return { kind: 'plan', plan, verdicts: await readVerdicts(this.destination, layout), records };
  }

  /** Returns the plan stored at the destination. Throws if its time range differs from that of the export. */
  checkedPlan(plan: ExportPlan): ExportPlan {
    const { layout, identity } = this.#definition;
    const covered = rangeText(plan.boundariesMs[0], plan.boundariesMs.at(-1));
    const wanted = rangeText(identity.fromMs, identity.toMs);
    if (covered !== wanted)
      throw planKind.damaged(layout.plan, `the plan covers ${covered}, but the export covers ${wanted}`);
    return plan;
  }

  /**
   * Reads either all commit records and comparison results, or only the new ones. If all are read, or if a known commit
   * record has disappeared, also restores a missing plan (E2).
   */
  async readRecords(before: Known, which: RecordsReading['which']): Promise<RecordsReading> {
    const { layout } = this.#definition;
    const known = which === 'all' ? { records: [], verdicts: [] } : before;
    // The records are read first, for the same reason as in `load`.
    const records = await readRecords(this.destination, layout, known.records);
    const newVerdicts = await readVerdicts(this.destination, layout, known.verdicts.length);
    const keys = new Set(records.map((record) => recordKey(record)));
    const gone = before.records.filter((record) => !keys.has(recordKey(record)));
    const isPlanDoubted = which === 'all' || gone.length > 0;
    const plan = isPlanDoubted
      ? this.checkedPlan(await crossing('export.plan', () => storePlanOnce(this.destination, layout, before.plan)))
      : before.plan;
    return { which, plan, records, gone, verdicts: [...known.verdicts, ...newVerdicts] };
  }

  /**
   * Stores the result of a comparison unless another process has already stored one, and returns the stored result.
   * Removes the files of commit records that become invalid.
   */
  async judge({ plan, records, verdicts }: Known, verdict: DigestVerdict): Promise<DigestVerdict> {
    const { layout } = this.#definition;
    const stored = await crossing('export.proof', () => storeVerdictOnce(this.destination, layout, verdict));
    const { voided } = coverageOf(plan, records, [...verdicts, stored]);
    const names = stored.segments.length === 0 ? [] : voided.flatMap(({ files }) => files.map(({ name }) => name));
    for (const name of names) await this.destination.remove(layout.within(name)).catch(() => {});
    return stored;
  }

  /** Writes the export manifest when the whole time range has been exported, and removes unneeded files. */
  async finish(coverage: Coverage, verdicts: readonly DigestVerdict[]): Promise<StoredManifest> {
    const { layout, identity } = this.#definition;
    const listed = await this.#listed();
    await checkFiles(this.destination, layout, coverage.intervals, listed);
    const ours = manifestOf(identity, coverage, verdicts);
    // The manifest of a large export can be many megabytes long, so it is encoded only once.
    const content = manifestKind.encode(ours);
    const manifest = await crossing('export.manifest', () => writeManifest(this.destination, layout, ours, content));
    const stored = manifest === ours ? content : manifestKind.encode(manifest);
    return this.#complete(manifest, stored, listed, coverage.voided);
  }

  /** Checks the existing export manifest, because users may have changed it or removed files. */
  async #checkExisting(manifest: Manifest): Promise<StoredManifest> {
    const { layout, identity } = this.#definition;
    checkManifest(manifest, identity, layout);
    const listed = await this.#listed();
    await checkFiles(this.destination, layout, manifest.intervals, listed, layout.manifest);
    return this.#complete(manifest, manifestKind.encode(manifest), listed, await this.#voided());
  }

  /**
   * Returns the commit records that are no longer valid, because a comparison with the service's counts found
   * differences in their intervals. These intervals were searched again.
   */
  async #voided(): Promise<readonly CommitRecord[]> {
    const { layout } = this.#definition;
    const verdicts = await readVerdicts(this.destination, layout);
    if (verdicts.every(({ segments }) => segments.length === 0)) return [];
    const plan = await readPlan(this.destination, layout);
    return plan ? coverageOf(plan, await readRecords(this.destination, layout), verdicts).voided : [];
  }

  /** Removes all unfinished uploads, and then lists the files of the export. */
  async #listed(): Promise<ListedFiles> {
    const { layout } = this.#definition;
    await this.destination.abortLeftovers(layout.folder, 'all');
    return listFiles(this.destination, layout);
  }

  /**
   * Removes files that no commit record lists, and then returns the existing manifest. Such files remain if a process
   * ends after it has written the manifest, but before it has removed them.
   */
  async #complete(
    manifest: Manifest,
    content: Uint8Array,
    listed: ListedFiles,
    voided: readonly CommitRecord[],
  ): Promise<StoredManifest> {
    const { layout } = this.#definition;
    const sha256 = manifestSha256(content);
    await removeStrays(this.destination, layout, { intervals: manifest.intervals, voided }, listed);
    return { url: `${this.destination.url}/${layout.manifest}`, sha256, manifest };
  }
}

function rangeText(fromMs: number | undefined, toMs: number | undefined): string {
  return `${fromMs} to ${toMs}`;
}
