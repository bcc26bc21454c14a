/**
 * What neither schema nor CEL can say about a SearchExport: times that no clock shows, a query that cannot be searched piece by piece,
 * and settings that will not do what they look like. Looks at the manifest as it was written, without defaults, once schema and rules
 * have nothing against it.
 */
import { parseDuration } from '../base/duration.ts';
import { type Finding, warning } from './finding.ts';
import type {
  DestinationSpec,
  OutputSpec,
  S3Spec,
  SearchExportSpec,
  TimeRangeSpec,
} from './generated/search-export.ts';
import type { JsonPath } from './json-path.ts';
import { rewrittenField, rewrittenProblem } from './rewritten-field.ts';
import { splittability } from './splittable.ts';
import { clockChangesIn, readTimeRange, type TimeRange, type TimeRangeText } from './time-range.ts';

type Written<T> = { readonly [K in keyof T]?: T[K] | null };

/** A spec as people write it: what has a default may be absent. */
type WrittenSpec = Pick<SearchExportSpec, 'query'> & {
  readonly timeRange: Written<TimeRangeSpec> & Pick<TimeRangeSpec, 'from' | 'to'>;
  readonly destination: Written<DestinationSpec>;
  readonly output?: Written<OutputSpec> | null;
} & Written<Omit<SearchExportSpec, 'query' | 'timeRange' | 'destination' | 'output' | 'credentialsSecretRef'>>;

/** What comes later than this after its time is rare. */
const usualDelayMs = 60_000;
/** A status that goes sooner nobody has seen. */
const shortestUsefulTtlSeconds = 60;

/** @param wallMs the time of day, for what depends on it; without it nothing does */
export function checkExport(spec: WrittenSpec, wallMs?: number): readonly Finding[] {
  return [
    ...checkTimes(spec, wallMs),
    ...checkQuery(spec),
    ...checkOutput(spec.output ?? {}),
    ...checkDestination(spec.destination),
    ...checkEnd(spec),
  ];
}

/** Errors of the range, where the rest of the spec has others. */
export function checkRange(spec: Pick<WrittenSpec, 'timeRange'>): readonly Finding[] {
  const { from, to, timeZone } = spec.timeRange;
  const range = readTimeRange({ from, to, timeZone: timeZone ?? undefined });
  if (!('problem' in range)) return [];
  return [{ severity: 'error', path: ['spec', 'timeRange', range.member], part: 'value', message: range.problem }];
}

function* checkTimes(spec: WrittenSpec, wallMs: number | undefined): Generator<Finding> {
  const path = ['spec', 'timeRange'];
  const { from, to, timeZone } = spec.timeRange;
  const text: TimeRangeText = { from, to, timeZone: timeZone ?? undefined };
  const range = readTimeRange(text);
  if ('problem' in range) {
    yield* checkRange(spec);
    return;
  }
  for (const { member, note } of clockChangesIn(text)) yield warning([...path, member], note);
  if (wallMs !== undefined) yield* checkAgainstNow(spec, range, wallMs);
}

function* checkAgainstNow(spec: WrittenSpec, { fromMs, toMs }: TimeRange, wallMs: number): Generator<Finding> {
  const settleDelayMs = parseDuration(spec.settleDelay ?? '3m') ?? 0;
  const settledMs = toMs + settleDelayMs;
  if (fromMs > wallMs) {
    const message = `is in the future, so that nothing is searched before ${iso(fromMs)}; write an earlier time if that is not meant`;
    yield warning(['spec', 'timeRange', 'from'], message);
  } else if (toMs > wallMs) {
    const message = `is in the future, so that the export is not complete before ${iso(settledMs)}; write an earlier time if that is not meant`;
    yield warning(['spec', 'timeRange', 'to'], message);
  }
  const { activeDeadlineSeconds: deadline } = spec;
  if (deadline && wallMs + deadline * 1_000 < settledMs) {
    const message = `is over before ${iso(settledMs)}, when the end of the range can be searched, so that the export fails; write a longer one`;
    yield warning(['spec', 'activeDeadlineSeconds'], message);
  }
  if (settleDelayMs < usualDelayMs && toMs > wallMs - usualDelayMs) {
    const message = `messages that arrive later than ${spec.settleDelay} after their time are missed; write 3m or more`;
    yield warning(['spec', 'settleDelay'], message);
  }
}

function* checkQuery({ query, results, requiresRawMessages }: WrittenSpec): Generator<Finding> {
  const split = splittability(query);
  if (results === 'Records') {
    if (split.isSplittable) {
      const message =
        'the query has no aggregation, so that it makes no records; write results: Messages, or an aggregation, as in | count by _sourceHost';
      yield warning(['spec', 'results'], message);
    }
    if (requiresRawMessages === true) {
      const message = 'records have no use for raw messages, which make the search slower; leave it out';
      yield warning(['spec', 'requiresRawMessages'], message);
    }
    return;
  }
  const rewritten = rewrittenField(query);
  if (rewritten !== undefined) {
    const message = rewrittenProblem(rewritten);
    yield { severity: 'error', path: ['spec', 'query'], part: 'value', message };
  }
  if (!split.isSplittable) {
    const instead = split.onlyChooses
      ? 'leave out what sorts or limits rows if every row is what you want'
      : 'write results: Records if its aggregation is what you want, else operators that look at each row by itself, as where and parse';
    const message = `${split.reason}, so that it runs as one search job and is incomplete beyond the service's limit; ${instead}`;
    yield warning(['spec', 'query'], message);
  }
  if (requiresRawMessages === false) {
    const message =
      'without raw messages the service leaves _raw out, or refuses to give messages at all; leave it out, or write true';
    yield warning(['spec', 'requiresRawMessages'], message);
  }
}

function* checkOutput({ fields }: Written<OutputSpec>): Generator<Finding> {
  const path = ['spec', 'output', 'fields'];
  for (const [index, field] of (fields ?? []).entries()) {
    if (fields?.indexOf(field) !== index) {
      yield warning([...path, index], `${JSON.stringify(field)} is there already, and makes one column; write it once`);
    } else if (field.trim() !== field) {
      const message = `${JSON.stringify(field)} has blanks around it, which no field has; write ${field.trim() || 'a name'}`;
      yield warning([...path, index], message);
    }
  }
}

function* checkDestination({ s3 }: Written<DestinationSpec>): Generator<Finding> {
  const path = ['spec', 'destination', 's3'];
  if (s3) yield* checkStore(s3, path);
}

function* checkStore(s3: Written<S3Spec>, path: JsonPath): Generator<Finding> {
  if (!s3.credentialsSecretRef) {
    const message =
      'has no credentials, and is refused unless the operator runs with --allow-ambient-credentials; write credentialsSecretRef, as in {name: export-store}';
    yield { severity: 'warning', path, part: 'key', message };
  }
  yield* checkEndpoint(s3, path);
  if (s3.storageClass && isFrozen(s3.storageClass)) {
    const message = `files of ${s3.storageClass} have to be brought back before they can be read, so that logfleet verify cannot; write GLACIER_IR, or leave it to a rule of the bucket`;
    yield warning([...path, 'storageClass'], message);
  }
}

function* checkEndpoint({ bucket, endpoint, forcePathStyle, insecure }: Written<S3Spec>, path: JsonPath) {
  const url = endpoint ? URL.parse(endpoint) : null;
  if (endpoint && !url) {
    const message = `${JSON.stringify(endpoint)} is no address; write one as https://store.example.com`;
    yield { severity: 'error' as const, path: [...path, 'endpoint'], part: 'value' as const, message };
    return;
  }
  if (insecure && url?.protocol !== 'http:') {
    yield warning([...path, 'insecure'], 'has no effect without an endpoint of http://; leave it out');
  } else if (insecure) {
    yield warning([...path, 'endpoint'], 'sends rows unencrypted over the network; write https:// where the store can');
  }
  if (url && !forcePathStyle && isClusterName(url.hostname)) {
    const message = `the bucket's name goes before the host's, and a cluster knows no ${bucket}.${url.hostname}; write forcePathStyle: true beside it`;
    yield warning([...path, 'endpoint'], message);
  }
}

/** Names of services inside a cluster, and of the machine itself: there are none below them. */
function isClusterName(host: string): boolean {
  return /^[a-z0-9-]+$|\.svc(?:\.|$)/.test(host);
}

/** Amazon's classes whose objects cannot be read as they lie there. */
function isFrozen(storageClass: string): boolean {
  return storageClass === 'GLACIER' || storageClass === 'DEEP_ARCHIVE';
}

function* checkEnd({ ttlSecondsAfterFinished: ttl }: WrittenSpec): Generator<Finding> {
  if (typeof ttl !== 'number' || ttl >= shortestUsefulTtlSeconds) return;
  const message = `in a cluster it removes the resource ${ttl === 0 ? 'at once' : `${ttl}s`} after its end, before anybody has seen how it ended; write 604800 for a week, or leave it out`;
  yield warning(['spec', 'ttlSecondsAfterFinished'], message);
}

function iso(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
