/** Generated from crds/search-export.yaml by `make generate`. Edit that file instead. */

/** What you want to be exported. */
export interface SearchExportSpec {
  /**
   * The Secret with the address of the log service and the credentials for it, in the namespace of the export. Its keys
   * are `baseURL` (https only), `accessId` and `accessKey`; and, where needed, `ca.crt`, `allowedHosts`, `user`,
   * `requestsPerSecond` and `maxConcurrentRequests`.
   */
  readonly credentialsSecretRef: {
    /** The name of the Secret. */
    readonly name: string;
  };
  /**
   * What to search for, in the query language of the service. A query of a scope and of operators that look at each row
   * by itself (`where`, `parse`, `fields`, `json` and the like) is searched piece by piece, however many rows it finds.
   * Any other runs as one search job, whose result is incomplete where the service's limit cuts it.
   */
  readonly query: string;
  /**
   * From when to when, the end not included. Both ends in one of three forms: local times of `timeZone`
   * (`2026-11-01T00:00:00`), times with an offset (`2026-11-01T00:00:00+01:00`), or milliseconds since the epoch, in
   * quotes (`"1793491200000"`). What of it lies in the future, or was only just, is searched once it is past.
   */
  readonly timeRange: TimeRangeSpec;
  /**
   * Whether `timeRange` is about when the service received a message, and not about the time that the message itself
   * carries.
   */
  readonly byReceiptTime: boolean;
  /** `AutoParse` takes the fields of JSON messages for the query's while it is searched; `Manual` does not. */
  readonly autoParsingMode: 'Manual' | 'AutoParse';
  /**
   * `Messages` exports the messages that the query finds. `Records` exports the rows of its aggregation (`count by` and
   * the like).
   */
  readonly results: 'Messages' | 'Records';
  /**
   * Whether the service makes the messages themselves (`_raw`). Without them aggregations run faster. Where it is left
   * out, true for `Messages` and false for `Records`.
   */
  readonly requiresRawMessages?: boolean;
  /**
   * How many search jobs run side by side at most, and one more while rows are counted to cut the range. All exports of
   * one user share what the service allows; no more jobs are begun than can be kept alive. May be changed while the
   * export runs.
   */
  readonly parallelism: number;
  /** What the files look like. */
  readonly output: OutputSpec;
  /** Where the files go, into a folder of their own below `<namespace>/<name>/`. Exactly one of `volume` and `s3`. */
  readonly destination: DestinationSpec;
  /**
   * What an export may cost. At a limit nothing more is searched and the export fails; what is committed stays, and it
   * goes on once the limit is raised.
   */
  readonly limits: LimitsSpec;
  /**
   * The export fails when it is not complete so many seconds after it began (`status.startTime`), pauses and waits
   * counted in. What is committed stays, and it goes on once this is raised.
   */
  readonly activeDeadlineSeconds?: number;
  /**
   * What happens with an interval whose rows cannot be proven to be all, after it was searched again. `Fail`: the
   * export stalls, and its condition tells the figures. `Keep`: what was found is written, and flagged in the manifest
   * and in `status.incomplete`; but never what a search found that brought errors.
   */
  readonly incompletePolicy: 'Fail' | 'Keep';
  /**
   * How the rows are proven to be all. `Digest`: once all is searched, the service itself adds up number, bytes and
   * times of the messages, slice by slice, and these are compared with what was written; that scans the range a second
   * time. What differs is searched again, up to three times. `Count`: the counts of the searches are all that is
   * compared. A change takes effect until the manifest is written.
   */
  readonly proof: 'Digest' | 'Count';
  /** Nothing newer than so long ago is searched, since messages arrive late; from `0s` to `24h`. */
  readonly settleDelay: string;
  /**
   * Begins no further search job while true; those that run are read to their end. The annotation `logfleet.dev/paused:
   * "true"` does the same without a change of the spec.
   */
  readonly paused: boolean;
  /**
   * Removes this resource, and never its files, so many seconds after it was complete or failed; never where it is left
   * out, and no manifest of a directory. One that is made again with the same spec finds its manifest and is complete
   * at once.
   */
  readonly ttlSecondsAfterFinished?: number;
}

/**
 * From when to when, the end not included. Both ends in one of three forms: local times of `timeZone`
 * (`2026-11-01T00:00:00`), times with an offset (`2026-11-01T00:00:00+01:00`), or milliseconds since the epoch, in
 * quotes (`"1793491200000"`). What of it lies in the future, or was only just, is searched once it is past.
 */
export interface TimeRangeSpec {
  /**
   * The first moment of it. A local time that comes twice is the first of the two, and one that the clocks leave out is
   * as much later as they are put forward.
   */
  readonly from: string;
  /** The moment at which it ends, which is not in it. */
  readonly to: string;
  /**
   * The IANA time zone of local times, and of what the query does with days and hours. Needed for local times alone,
   * and `UTC` without it.
   */
  readonly timeZone?: string;
}

/** What the files look like. */
export interface OutputSpec {
  /**
   * `NDJSON`: one JSON object a line, each as the service sent it where no `fields` are chosen. `CSV`: with a header,
   * for spreadsheets and small tools. `Parquet`: columns with types, for DuckDB, Spark or pandas.
   */
  readonly format: 'NDJSON' | 'CSV' | 'Parquet';
  /**
   * How files are packed; around the file, and with Parquet inside it, page by page. `Zstd` is the faster, `Gzip` is
   * known everywhere.
   */
  readonly compression: 'None' | 'Gzip' | 'Zstd';
  /**
   * Which fields to write, in this order; empty for all. Names are those of the service (`_messagetime`, `_raw`) and
   * those that the query makes.
   */
  readonly fields: readonly string[];
  /**
   * How large a file may become before the next is begun, in bytes as they lie there, packed: from `1Mi` to `32Gi`. No
   * row is cut, so that a file may be a little larger. Where less is found, files are smaller.
   */
  readonly maxPartSize: string;
  /** What there is to say of CSV alone. */
  readonly csv?: CsvSpec;
}

/** What there is to say of CSV alone. */
export interface CsvSpec {
  /**
   * Puts an apostrophe before cells that a spreadsheet would run as formulas (that begin with `=`, `+`, `-`, `@` and
   * are no numbers). Turn it off only where no spreadsheet reads the files.
   */
  readonly formulaGuard: boolean;
}

/** Where the files go, into a folder of their own below `<namespace>/<name>/`. Exactly one of `volume` and `s3`. */
export interface DestinationSpec {
  /** A directory that the operator was given as `--volume NAME=DIR`, mostly a mounted claim. */
  readonly volume?: VolumeSpec;
  /** A bucket of Amazon S3, or of any store that speaks its protocol. */
  readonly s3?: S3Spec;
}

/** A directory that the operator was given as `--volume NAME=DIR`, mostly a mounted claim. */
export interface VolumeSpec {
  /** The NAME of `--volume NAME=DIR`. */
  readonly name: string;
  /**
   * A folder below the namespace's own, which is made where it is missing, as in `audit/2026`. The namespace's own
   * where it is left out.
   */
  readonly path?: string;
}

/** A bucket of Amazon S3, or of any store that speaks its protocol. */
export interface S3Spec {
  /** The name of the bucket, which has to be there. */
  readonly bucket: string;
  /**
   * Where in the bucket to begin, as in `audit/2026`; the namespace's folder lies below it. The bucket itself where it
   * is left out.
   */
  readonly prefix?: string;
  /** The region of the bucket; `us-east-1` where it is left out, which stores without regions take. */
  readonly region?: string;
  /** The address of the store, as in `https://store.example.com`; Amazon's own where it is left out. */
  readonly endpoint?: string;
  /**
   * Whether the bucket's name goes into the path of addresses and not before the host's name, as many stores other than
   * Amazon's need.
   */
  readonly forcePathStyle: boolean;
  /**
   * The Secret with the credentials for the store, in the namespace of the export. Its keys are `accessKeyId`,
   * `secretAccessKey` and, where needed, `sessionToken`. Without it the operator's own credentials would be used, which
   * it refuses unless it runs with `--allow-ambient-credentials`.
   */
  readonly credentialsSecretRef?: {
    /** The name of the Secret. */
    readonly name: string;
  };
  /** How the store encrypts what it keeps; as the bucket says where it is left out. */
  readonly serverSideEncryption?: ServerSideEncryptionSpec;
  /**
   * The storage class of the files, as in `STANDARD_IA`; the bucket's own where it is left out. Plan, records and
   * manifest stay in that, since they have to be readable at once.
   */
  readonly storageClass?: string;
  /** Lets `endpoint` be `http://`, so that everybody on the way can read the rows and use the credentials. */
  readonly insecure: boolean;
}

/** How the store encrypts what it keeps; as the bucket says where it is left out. */
export interface ServerSideEncryptionSpec {
  /** `AES256`: with keys of the store. `aws:kms`: with a key of the key management. `aws:kms:dsse`: so, and twice. */
  readonly type: 'AES256' | 'aws:kms' | 'aws:kms:dsse';
  /** The key, by its id, alias or ARN; the account's default key where it is left out. Not with `AES256`. */
  readonly kmsKeyID?: string;
}

/**
 * What an export may cost. At a limit nothing more is searched and the export fails; what is committed stays, and it
 * goes on once the limit is raised.
 */
export interface LimitsSpec {
  /**
   * No further search is begun once so many rows are written, or may be by searches that are under way. Those are read
   * to their end, so that the last of them may exceed it.
   */
  readonly maxMessages?: number;
  /**
   * Searching ends once the service has scanned so many bytes for this export, from `1Mi` to `1Pi`; those count, too,
   * that were scanned before it began anew. Only where the service says how many it scans.
   */
  readonly maxBytesScanned?: string;
}

/**
 * What logfleet has found and done. Written by logfleet alone. It decides nothing about what is left to do: what stands
 * at the destination does.
 */
export interface SearchExportStatus {
  /** The generation of the spec that this status is about. */
  readonly observedGeneration?: number;
  /**
   * When the outage began that keeps logfleet from going on, as a service that does not answer; absent while there is
   * none. After ten minutes the condition `Outage` is `True`.
   */
  readonly outageStartTime?: string;
  /**
   * The operators that follow this resource, by the namespace of their lease. Only the first acts; the others hold.
   * More than one is a mistake, which the condition `OtherOperator` reports.
   */
  readonly operators?: readonly OperatorMark[];
  /** The value of the annotation `logfleet.dev/requestedAt` that was acted on last (its first 256 characters). */
  readonly lastHandledReconcileAt?: string;
  /** Short texts for tables. */
  readonly summary?: SummaryStatus;
  /**
   * When logfleet began with it, or anew where its manifest was moved away; `activeDeadlineSeconds` counts from here.
   */
  readonly startTime?: string;
  /** When it was complete, or failed; absent before. `ttlSecondsAfterFinished` counts from here. */
  readonly completionTime?: string;
  /**
   * When it will be complete, at the rate of the last minutes; absent while that cannot be said, or waits for a person.
   */
  readonly estimatedCompletionTime?: string;
  /** What `spec.timeRange` was read as, in UTC; the end is not included. */
  readonly timeRange?: TimeRangeStatus;
  /**
   * SHA-256 of everything that decides what the files hold, in hexadecimal digits. The last folder of `location` is
   * called so: files of another query are never counted.
   */
  readonly fingerprint?: string;
  /** The folder of this export at the destination, as an address. */
  readonly location?: string;
  /** How far it is. */
  readonly progress?: ProgressStatus;
  /** The search jobs that are alive now, up to 50 of them. */
  readonly jobs?: readonly SearchJobStatus[];
  /**
   * How the rows that are known of lie in the time range, in up to 60 pieces in order of time; pieces of which nothing
   * is known are absent.
   */
  readonly histogram?: readonly HistogramBucket[];
  /** A sample of the intervals whose rows could not be proven to be all, up to 20, the newest of the range first. */
  readonly incomplete?: readonly IncompleteInterval[];
  /** What search jobs said went wrong, the newest first; up to 10. */
  readonly pendingErrors?: readonly string[];
  /** What search jobs warned of, the newest first; up to 10. */
  readonly pendingWarnings?: readonly string[];
  /**
   * The manifest, which names every file with its rows and SHA-256; absent until the whole range is done. `logfleet
   * verify` with its address reads the files again.
   */
  readonly manifest?: ManifestStatus;
  /**
   * `Ready`, `Reconciling`, `Stalled` and `Outage`, in the form that kstatus, Flux and Argo CD read, and `Complete` and
   * `Failed`, as a Job has them. The message of `Ready` says why nothing is happening.
   */
  readonly conditions?: readonly Condition[];
}

/** One operator. */
export interface OperatorMark {
  /** The namespace of the operator's lease. */
  readonly name: string;
  /** When the operator first marked this resource. The earliest acts. */
  readonly since: string;
  /** What the operator answered last. An operator asks by a later time, and each other one answers with the same. */
  readonly seen: string;
}

/** Short texts for tables. */
export interface SummaryStatus {
  /** Where the export stands, in one word; mostly the reason of the condition that matters most. */
  readonly state?: string;
  /** Share of the range that is done, as in `42%`. */
  readonly progress?: string;
  /** Rows in the files, as in `1.2M`. */
  readonly rows?: string;
}

/** What `spec.timeRange` was read as, in UTC; the end is not included. */
export interface TimeRangeStatus {
  /** The first moment of it. */
  readonly startTime: string;
  /** The moment at which it ends. */
  readonly endTime: string;
}

/** How far it is. */
export interface ProgressStatus {
  /**
   * How much of the range is done, in whole percent, rounded down; 100 only when all of it is. The planned segments
   * count alike, since they have about as many rows each.
   */
  readonly coveredPercent: number;
  /** Pieces of the time range, as far as is known; one that exceeds the service's limit becomes more. */
  readonly intervalsPlanned: number;
  /** Those whose rows are in files, and proven. */
  readonly intervalsDone: number;
  /** Those of them that are flagged as incomplete, under `Keep`; absent where there are none. */
  readonly intervalsIncomplete?: number;
  /** Rows in the files. */
  readonly rowsWritten: number;
  /** Length of the files, packed. */
  readonly bytesWritten: number;
  /** What the service scanned for it, in bytes; absent where it does not say. */
  readonly bytesScanned?: number;
  /** Rows that the service gave twice, which are in the files once. */
  readonly duplicatesDropped: number;
  /** Rows written in a second, over the last minute; absent while none are. */
  readonly rowsPerSecond?: number;
  /** Bytes of rows received in a second, over the last minute; absent while none are. */
  readonly bytesPerSecond?: number;
}

/** One search job, and the piece of the range that it searches. */
export interface SearchJobStatus {
  /** The id of the service's search job. */
  readonly id: string;
  /** Where its interval begins. */
  readonly from: string;
  /** Where it ends, which is not in it. */
  readonly to: string;
  /** What the service says of it, as in `GATHERING RESULTS`. */
  readonly state: string;
  /** Messages that it has found. */
  readonly messageCount?: number;
  /** Records that it has made. */
  readonly recordCount?: number;
}

/** One piece. */
export interface HistogramBucket {
  /** Where it begins. */
  readonly startTime: string;
  /** Where it ends, which is not in it. */
  readonly endTime: string;
  /** Rows in it. */
  readonly count: number;
}

/** One interval, with the figures that do not fit. */
export interface IncompleteInterval {
  /** Where it begins. */
  readonly from: string;
  /** Where it ends, which is not in it. */
  readonly to: string;
  /** What does not fit, in one sentence. */
  readonly reason: string;
  /** Rows that the service gave. */
  readonly received?: number;
  /** Rows that there had to be; absent where nothing says how many. */
  readonly expected?: number;
}

/**
 * The manifest, which names every file with its rows and SHA-256; absent until the whole range is done. `logfleet
 * verify` with its address reads the files again.
 */
export interface ManifestStatus {
  /** Where it lies. */
  readonly url: string;
  /** SHA-256 of the manifest itself, in hexadecimal digits. */
  readonly sha256: string;
  /** Rows in all files. */
  readonly rows: number;
  /** How many files there are. */
  readonly files: number;
  /** Length of all files, packed. */
  readonly bytes: number;
  /** Whether every interval is proven; false where one was kept although it is incomplete. */
  readonly complete: boolean;
  /**
   * How well the least proven range is proven. `Digest`: by number, bytes and times of its messages, added up by the
   * service. `Count`: by their number alone. `Search`: by the count of the search that gave them. `None`: flagged as
   * incomplete.
   */
  readonly proof?: 'Digest' | 'Count' | 'Search' | 'None';
}

/** One aspect of the state. */
export interface Condition {
  /** Which aspect. */
  readonly type: string;
  /** Whether it holds. */
  readonly status: 'True' | 'False' | 'Unknown';
  /** The generation of the spec that this condition is about. */
  readonly observedGeneration?: number;
  /** When `status` changed last. */
  readonly lastTransitionTime: string;
  /** Why, as one CamelCase word for programs. */
  readonly reason: string;
  /** Why, and what to do, for people. */
  readonly message: string;
}
