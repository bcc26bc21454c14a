/** Renders collectors and their versions as a table, JSON or CSV. */
import { compareBuildVersions, parseBuildVersion } from '../../base/build-version.ts';
import { groupedText, wordFor } from '../../base/number-text.ts';
import { compareText } from '../../base/text-order.ts';
import { isoSeconds } from '../../base/time-text.ts';
import { ByteSpool } from '../../output/byte-spool.ts';
import { CsvEncoder } from '../../output/csv-encoder.ts';
import type { Collector } from '../../service/collectors/upgrade-service.ts';
import { renderTable } from '../render/table.ts';
import { renderAge } from '../render/text.ts';

/** Collectors to show, ordered by name. */
export interface ShownFleet {
  readonly selected: readonly Collector[];
  /** Total number of collectors. */
  readonly total: number;
  /** True if the collectors were chosen by a selector. */
  readonly isSelection: boolean;
}

interface FleetTableOptions {
  readonly wide: boolean;
  readonly width: number;
  /** Current wall-clock time in ms, for the column LAST SEEN. */
  readonly nowMs: number;
}

export function byName(left: Collector, right: Collector): number {
  return compareText(left.name, right.name) || compareText(left.id, right.id);
}

/**
 * Renders the table of collectors. Lines below the table show the number of collectors in total and for each version.
 */
export function renderFleet(fleet: ShownFleet, { wide, width, nowMs }: FleetTableOptions): readonly string[] {
  const shown = columns.filter((column) => wide || !column.onlyWide);
  const headings = shown.map(({ heading }) => heading);
  const rows = fleet.selected.map((collector) => shown.map(({ cell }) => cell(collector, nowMs)));
  const table = rows.length === 0 ? [] : [...renderTable(headings, rows, width), ''];
  return [...table, describeCount(fleet), ...renderVersions(fleet.selected)];
}

interface FleetColumn {
  readonly heading: string;
  readonly cell: (collector: Collector, nowMs: number) => string;
  /** True if the column is shown only with `-o wide`. */
  readonly onlyWide?: boolean;
}

const columns: readonly FleetColumn[] = [
  { heading: 'Name', cell: ({ name }) => name },
  { heading: 'ID', cell: ({ id }) => id },
  { heading: 'Version', cell: ({ collectorVersion = '' }) => collectorVersion },
  { heading: 'Status', cell: ({ alive }) => (alive === undefined ? '' : alive ? 'alive' : 'offline') },
  {
    heading: 'Last seen',
    cell: ({ lastSeenAliveMs }, nowMs) => (lastSeenAliveMs === undefined ? '' : renderAge(nowMs - lastSeenAliveMs)),
  },
  { heading: 'OS', cell: ({ osName = '' }) => osName },
  { heading: 'OS version', cell: ({ osVersion = '' }) => osVersion, onlyWide: true },
  { heading: 'Arch', cell: ({ osArch = '' }) => osArch, onlyWide: true },
  { heading: 'Host', cell: ({ hostName = '' }) => hostName, onlyWide: true },
  { heading: 'Time zone', cell: ({ timeZone = '' }) => timeZone, onlyWide: true },
  { heading: 'Type', cell: ({ collectorType = '' }) => collectorType, onlyWide: true },
];

function describeCount({ selected, total, isSelection }: ShownFleet): string {
  const all = `${groupedText(total)} ${wordFor(total, 'collector', 'collectors')}`;
  return isSelection ? `${groupedText(selected.length)} of ${all} selected` : all;
}

function renderVersions(collectors: readonly Collector[]): readonly string[] {
  if (collectors.length === 0) return [];
  const rows = versionShares(collectors).map(({ version, count, share }) => [
    version ?? 'none',
    groupedText(count),
    `${(share * 100).toFixed(1)} %`,
  ]);
  return renderTable(['Version', 'Collectors', 'Share'], rows);
}

interface VersionShare {
  /** Version that the collectors run. Undefined for hosted collectors, which have no version. */
  readonly version: string | undefined;
  readonly count: number;
  /** Fraction of the displayed collectors that run this version, from 0 to 1. */
  readonly share: number;
}

/** Groups collectors by version, newest version first. Returns the number and fraction of collectors in each group. */
function versionShares(collectors: readonly Collector[]): readonly VersionShare[] {
  const groups = Map.groupBy(collectors, ({ collectorVersion }) => collectorVersion || undefined);
  const shares = Array.from(groups, ([version, { length: count }]) => ({
    version,
    count,
    share: count / collectors.length,
  }));
  return shares.sort((left, right) => newestFirst(left.version, right.version));
}

/** Sorts versions, newest first. Strings that are not versions come last. */
function newestFirst(left = '', right = ''): number {
  const [former, latter] = [parseBuildVersion(left), parseBuildVersion(right)];
  if (former && latter) return compareBuildVersions(latter, former);
  return Number(latter !== undefined) - Number(former !== undefined) || compareText(right, left);
}

/** Fields of each collector in the JSON and CSV output. Selectors use the same field names. */
const fieldNames = [
  ...(['id', 'name', 'hostName', 'collectorVersion', 'collectorType', 'alive', 'lastSeenAlive', 'osName'] as const),
  ...(['osVersion', 'osArch', 'timeZone', 'ephemeral', 'sourceSyncMode'] as const),
];

type CollectorRecord = Readonly<Record<(typeof fieldNames)[number], unknown>>;

function recordOf({ lastSeenAliveMs, ...collector }: Collector): CollectorRecord {
  return {
    ...collector,
    lastSeenAlive: lastSeenAliveMs === undefined ? undefined : isoSeconds(lastSeenAliveMs),
  };
}

/** Returns the JSON document of a fleet. Fields without a value are omitted. */
export function fleetDocument({ selected, total }: ShownFleet): object {
  return {
    total,
    selected: selected.length,
    versions: versionShares(selected).map(({ version, count, share }) => ({
      version,
      collectors: count,
      share: Number(share.toFixed(4)),
    })),
    collectors: selected.map(recordOf),
  };
}

/** Yields a CSV file with one line per collector. A cell that looks like a formula is prefixed with an apostrophe. */
export function* fleetCsv({ selected }: ShownFleet): Generator<Uint8Array> {
  const spool = new ByteSpool();
  const set = {
    columns: fieldNames.map((name) => ({ name, type: 'text' as const })),
    restName: '',
    keepsOthers: false,
  };
  const encoder = new CsvEncoder(spool, set, { formulaGuard: true });
  for (const collector of selected) encoder.row({ bytes: Buffer.from(JSON.stringify(recordOf(collector))) });
  encoder.end();
  spool.flush();
  for (let chunk = spool.take(); chunk; chunk = spool.take()) yield chunk;
}
