/**
 * Checks a SearchExport for problems that neither the schema nor CEL rules can detect. The spec must already be valid
 * according to both, but its defaults need not be set.
 */

import { parseDuration } from '../base/duration.ts';
import type { TimeRange } from '../base/time-range.ts';
import { isoText } from '../base/time-text.ts';
import { clockChangesIn, partitionProblem, readTimeRange, type TimeRangeText } from './export-time-range.ts';
import { error, type Finding, warning } from './finding.ts';
import type {
  AzureBlobSpec,
  DestinationSpec,
  GcsSpec,
  OutputSpec,
  S3Spec,
  SearchExportSpec,
  TimeRangeSpec,
} from './generated/search-export.ts';
import type { JsonPath } from './json-path.ts';
import { checkCopiedMetadata } from './label-check.ts';
import { rewrittenField, rewrittenProblem } from './rewritten-field.ts';
import type { Written } from './schemas.ts';
import { splittability } from './splittable.ts';
import { tokenEndpointProblem } from './token-endpoint.ts';

/** Spec of an export as users write it. Fields that have a default may be absent. */
type WrittenExportSpec = Pick<SearchExportSpec, 'query'> & {
  readonly timeRange: Written<TimeRangeSpec> & Pick<TimeRangeSpec, 'from' | 'to'>;
  readonly destination: Written<DestinationSpec>;
  readonly output?: Written<OutputSpec> | null;
} & Written<Omit<SearchExportSpec, 'query' | 'timeRange' | 'destination' | 'output' | 'credentialsSecretRef'>>;

/** Delay, in ms, after which nearly all log messages have arrived at the log service. */
const usualDelayMs = 60_000;
/**
 * Minimum useful value of `ttlSecondsAfterFinished`. With a smaller value, the export is deleted before anyone can read
 * its status.
 */
const shortestUsefulTtlSeconds = 60;

/**
 * Returns errors and warnings about an export's spec. Without the current time `wallMs`, skips checks that depend on
 * it.
 */
export function checkExport(spec: WrittenExportSpec, wallMs?: number): readonly Finding[] {
  return [
    ...checkTimes(spec, wallMs),
    ...checkQuery(spec),
    ...checkOutput(spec.output ?? {}),
    ...checkDestination(spec),
    ...checkExecution(spec),
    ...checkEnd(spec),
  ];
}

/** Returns the errors in an export's time range. This check runs even if other fields have errors. */
export function checkRange(spec: Pick<WrittenExportSpec, 'timeRange'>): readonly Finding[] {
  const { from, to, timeZone } = spec.timeRange;
  const range = readTimeRange({ from, to, timeZone: timeZone ?? undefined });
  if (!('problem' in range)) return [];
  return [error(['spec', 'timeRange', range.member], 'Invalid', range)];
}

function* checkTimes(spec: WrittenExportSpec, wallMs: number | undefined): Generator<Finding> {
  const path = ['spec', 'timeRange'];
  const { from, to, timeZone } = spec.timeRange;
  const text: TimeRangeText = { from, to, timeZone: timeZone ?? undefined };
  const range = readTimeRange(text);
  if ('problem' in range) {
    yield* checkRange(spec);
    return;
  }
  for (const { member, problem, remedy } of clockChangesIn(text)) {
    yield warning([...path, member], 'Risky', { problem, remedy });
  }
  const tooMany = partitionProblem(spec.output?.partitionBy ?? 'None', range);
  if (tooMany) yield error(['spec', 'output', 'partitionBy'], 'Invalid', tooMany);
  if (wallMs !== undefined) yield* checkAgainstNow(spec, range, wallMs);
}

function* checkAgainstNow(spec: WrittenExportSpec, { fromMs, toMs }: TimeRange, wallMs: number): Generator<Finding> {
  const settledMs = toMs + settleDelayOf(spec);
  if (fromMs > wallMs) {
    yield warning(['spec', 'timeRange', 'from'], 'Risky', {
      problem: `the time range starts in the future, so no search starts before ${isoText(fromMs)}`,
      remedy: 'use an earlier time, unless this is intended',
    });
  } else if (toMs > wallMs) {
    yield warning(['spec', 'timeRange', 'to'], 'Risky', {
      problem: `the time range ends in the future, so the export cannot complete before ${isoText(settledMs)}`,
      remedy: 'use an earlier time, unless this is intended',
    });
  }
  const { activeDeadlineSeconds: deadline } = spec;
  if (deadline && wallMs + deadline * 1_000 < settledMs) {
    yield warning(['spec', 'activeDeadlineSeconds'], 'Risky', {
      problem: `the export would fail at its deadline, because the end of its time range cannot be searched before ${isoText(settledMs)}`,
      remedy: 'use a larger value',
    });
  }
  if (isShortSettleDelay(spec) && toMs > wallMs - usualDelayMs) {
    yield warning(['spec', 'settleDelay'], 'Risky', {
      problem: `the export misses messages that arrive at the service later than ${spec.settleDelay} after their message time`,
      remedy: 'use 3m or more',
    });
  }
}

/** Reports whether `settleDelay` is shorter than the time in which nearly all log messages arrive at the service. */
export function isShortSettleDelay(spec: Pick<WrittenExportSpec, 'settleDelay'>): boolean {
  return settleDelayOf(spec) < usualDelayMs;
}

/** Returns `settleDelay` in ms. */
function settleDelayOf({ settleDelay }: Pick<WrittenExportSpec, 'settleDelay'>): number {
  return parseDuration(settleDelay ?? '3m') ?? 0;
}

function* checkQuery({ query, results, requiresRawMessages }: WrittenExportSpec): Generator<Finding> {
  const split = splittability(query);
  if (results === 'Records') {
    if (split.isSplittable) {
      yield warning(['spec', 'results'], 'Risky', {
        problem: 'the query has no aggregation, but only an aggregation produces Records',
        remedy: 'set spec.results to Messages, or add an aggregation such as | count by _sourceHost',
      });
    }
    if (requiresRawMessages === true) {
      yield warning(['spec', 'requiresRawMessages'], 'NoEffect', {
        problem:
          'an export of records (results of an aggregation) needs no raw messages, and raw messages make the search slower',
        remedy: 'leave it out',
      });
    }
    return;
  }
  const rewritten = rewrittenField(query);
  if (rewritten !== undefined) {
    const { problem, remedy } = rewrittenProblem(rewritten);
    yield error(['spec', 'query'], 'Invalid', { problem, remedy });
  }
  if (!split.isSplittable) {
    const instead = split.onlyChooses
      ? 'leave out operators that sort or limit rows if you want every row'
      : 'use only operators such as where and parse, which handle each row separately, or set spec.results to Records if the query aggregates rows';
    yield warning(['spec', 'query'], 'Risky', {
      problem: `${split.reason}, so the query runs as one search job, which returns at most as many rows as the service allows for one job`,
      remedy: instead,
    });
  }
  if (requiresRawMessages === false) {
    yield warning(['spec', 'requiresRawMessages'], 'Risky', {
      problem: 'without raw messages, the service leaves _raw out of the messages, or returns no messages at all',
      remedy: 'leave it out, or set it to true',
    });
  }
}

function* checkOutput({ fields }: Written<OutputSpec>): Generator<Finding> {
  const path = ['spec', 'output', 'fields'];
  for (const [index, field] of (fields ?? []).entries()) {
    if (fields?.indexOf(field) !== index) {
      yield warning([...path, index], 'Duplicate', {
        problem: `${JSON.stringify(field)} is listed twice, but the exported files contain each field only once`,
        remedy: 'keep only one',
      });
    } else if (field.trim() !== field) {
      yield warning([...path, index], 'Risky', {
        problem: `${JSON.stringify(field)} begins or ends with a space, so it is not the name of any field`,
        remedy: `use ${field.trim() || 'a name'}`,
      });
    }
  }
}

/** Returns warnings about settings that have no effect, or a surprising effect, if a Kubernetes Job runs the export. */
function* checkExecution({ execution, destination, activeDeadlineSeconds }: WrittenExportSpec): Generator<Finding> {
  if (execution?.mode !== 'Job') return;
  const path = ['spec', 'execution', 'job', 'serviceAccountName'];
  if (isAmbient(destination) && !execution.job?.serviceAccountName) {
    yield warning(path, 'Required', {
      problem:
        'the pod has no credentials for the store, because both serviceAccountName and credentialsSecretRef are missing',
      remedy: 'set serviceAccountName to the name of a ServiceAccount with a workload identity, for example exporter',
      subject: 'key',
    });
  }
  const metadataPath = ['spec', 'execution', 'job', 'template', 'metadata'];
  yield* checkCopiedMetadata(metadataPath, execution.job?.template?.metadata);
  if (destination.persistentVolumeClaim && (execution.job?.workers ?? 1) > 1) {
    yield warning(['spec', 'destination', 'persistentVolumeClaim'], 'Risky', {
      problem: 'several pods mount this claim, so its access mode must allow several nodes to mount it',
      remedy: 'use a claim with the access mode ReadWriteMany, or set workers to 1',
    });
  }
  if (activeDeadlineSeconds) {
    yield warning(['spec', 'activeDeadlineSeconds'], 'Risky', {
      problem:
        'activeDeadlineSeconds is counted from the start of each Kubernetes Job, so the count restarts after a pause',
      remedy: 'leave it out if the export may be paused',
    });
  }
}

/**
 * Reports whether the destination is an object store without a Secret. The export then needs ambient credentials, that
 * is, the credentials of the operator or the pod.
 */
export function isAmbient({ s3, azureBlob, gcs }: WrittenExportSpec['destination']): boolean {
  const store = s3 ?? azureBlob ?? gcs;
  return store != null && !store.credentialsSecretRef;
}

/**
 * Returns a warning that the destination names no credentials. The export then needs the operator's own credentials.
 */
export function credentialsMissing(path: JsonPath, destination: WrittenExportSpec['destination']): Finding {
  return warning([...path, storeOf(destination)], 'Required', {
    problem:
      'the destination has no credentials, so the export fails unless the operator runs with --allow-ambient-credentials',
    remedy: 'set credentialsSecretRef, for example {name: export-store}',
    subject: 'key',
  });
}

function storeOf({ azureBlob, gcs }: WrittenExportSpec['destination']): 'azureBlob' | 'gcs' | 's3' {
  return azureBlob ? 'azureBlob' : gcs ? 'gcs' : 's3';
}

function* checkDestination({ destination, execution }: WrittenExportSpec): Generator<Finding> {
  const { s3, azureBlob, gcs } = destination;
  const kind = storeOf(destination);
  const path = ['spec', 'destination', kind];
  const store = s3 ?? azureBlob ?? gcs;
  if (isAmbient(destination)) {
    const refused = tokenEndpointProblem(kind, store?.endpoint ?? undefined);
    if (refused) yield warning(path, 'Required', { ...refused, subject: 'key' });
    else if (execution?.mode !== 'Job') yield credentialsMissing(['spec', 'destination'], destination);
  }
  if (store) yield* checkEndpoint(store, path);
  if (!s3) return;
  yield* checkBucketHost(s3, path);
  if (s3.storageClass === 'GLACIER' || s3.storageClass === 'DEEP_ARCHIVE') {
    yield warning([...path, 'storageClass'], 'Risky', {
      problem: `files in the storage class ${s3.storageClass} must be restored before they can be read, so logfleet verify cannot read them`,
      remedy:
        'use GLACIER_IR, or leave storageClass out and let a bucket lifecycle rule move the files to the archive later',
    });
  }
}

function* checkEndpoint({ endpoint, insecure }: Written<S3Spec | AzureBlobSpec | GcsSpec>, path: JsonPath) {
  const url = endpoint ? URL.parse(endpoint) : null;
  if (endpoint && !url) {
    yield error([...path, 'endpoint'], 'Invalid', {
      problem: `${JSON.stringify(endpoint)} is not an address`,
      remedy: 'use an address such as https://store.example.com',
    });
    return;
  }
  if (insecure && url?.protocol !== 'http:') {
    yield warning([...path, 'insecure'], 'NoEffect', {
      problem: 'has no effect unless the endpoint begins with http://',
      remedy: 'leave it out',
    });
  } else if (insecure) {
    yield warning([...path, 'endpoint'], 'Risky', {
      problem: 'sends rows unencrypted over the network',
      remedy: 'use https:// if the store supports it',
    });
  }
}

function* checkBucketHost({ bucket, endpoint, forcePathStyle }: Written<S3Spec>, path: JsonPath) {
  const url = endpoint ? URL.parse(endpoint) : null;
  // Without path-style addresses, requests go to the host `BUCKET.HOST`, which does not exist if `HOST` is `localhost`
  // or a Service in the cluster.
  if (url && !forcePathStyle && /^[a-z0-9-]+$|\.svc(?:\.|$)/.test(url.hostname)) {
    yield warning([...path, 'endpoint'], 'Risky', {
      problem: `requests would go to the host ${bucket}.${url.hostname}, which does not exist in a cluster`,
      remedy: 'set forcePathStyle for path-style addresses',
    });
  }
}

function* checkEnd({ ttlSecondsAfterFinished: ttl }: WrittenExportSpec): Generator<Finding> {
  if (typeof ttl !== 'number' || ttl >= shortestUsefulTtlSeconds) return;
  const deletion = ttl === 0 ? 'immediately' : `${ttl}s`;
  yield warning(['spec', 'ttlSecondsAfterFinished'], 'Risky', {
    problem: `in a cluster, the SearchExport is deleted ${deletion} after the export ends, before anyone can read the status`,
    remedy: 'use 604800 for a week, or leave it out',
  });
}
