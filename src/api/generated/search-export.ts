/** Generated from crds/search-export.yaml by `make generate`. Edit that file instead. */

/** Rows to export, and destination of their files. */
export interface SearchExportSpec {
  /**
   * Secret with the address and the credentials of the log service, in the namespace of the export. It needs the keys
   * `baseURL` (https only), `accessId` and `accessKey`. The keys `ca.crt`, `allowedHosts`, `user`, `requestsPerSecond`
   * and `maxConcurrentRequests` are optional.
   */
  readonly credentialsSecretRef: {
    /** Name of the Secret. */
    readonly name: string;
  };
  /**
   * Query in the language of the service. If all its operators work row by row (`where`, `parse`, `fields`, `json` and
   * similar), the time range is split into several searches, so the query may find any number of rows. Any other query
   * runs as one search job, and its result is incomplete if it exceeds the limit of the service.
   */
  readonly query: string;
  /**
   * Time range to export, from `from` (included) to `to` (excluded). A time is a local time of `timeZone`
   * (`2026-11-01T00:00:00`), a time with an offset (`2026-11-01T00:00:00+01:00`), or milliseconds since the epoch in
   * quotes (`"1793491200000"`). The part of the range that is newer than now minus `settleDelay` is searched later.
   */
  readonly timeRange: TimeRangeSpec;
  /**
   * If true, `timeRange` applies to the time at which the service received a message. If false, it applies to the time
   * in the message itself.
   */
  readonly byReceiptTime: boolean;
  /**
   * `AutoParse` extracts the fields of JSON messages during the search, so that the query can use them. `Manual` does
   * not.
   */
  readonly autoParsingMode: 'Manual' | 'AutoParse';
  /**
   * `Messages` exports the messages that the query finds. `Records` exports the rows of its aggregation (`count by` and
   * similar).
   */
  readonly results: 'Messages' | 'Records';
  /**
   * Whether the service returns the raw text of messages (`_raw`). Aggregations run faster without it. Defaults to true
   * for `Messages` and false for `Records`.
   */
  readonly requiresRawMessages?: boolean;
  /**
   * Maximum number of search jobs at the same time. To split the range, one more job may count rows. All exports of one
   * user share the limits of the service, so fewer jobs may run. The pods of a Kubernetes Job divide this number, and
   * each pod runs at least one search job. Can be changed while the export runs.
   */
  readonly parallelism: number;
  /** Format of the files. */
  readonly output: OutputSpec;
  /**
   * Destination of the files. They are written to a separate folder under `<namespace>/<name>/`. Set exactly one of
   * `volume`, `s3`, `azureBlob` and `persistentVolumeClaim`.
   */
  readonly destination: DestinationSpec;
  /**
   * Process that runs the export. With `Operator`, the operator itself. With `Job`, a Kubernetes Job in the namespace
   * of the export, which needs the component `manifests/export-jobs` of the operator.
   */
  readonly execution: ExecutionSpec;
  /**
   * Cost limits of the export. At a limit the export fails and starts no more searches. Finished files stay, and the
   * export continues when the limit is raised.
   */
  readonly limits: LimitsSpec;
  /**
   * Maximum time in seconds from the start of the export (`status.startTime`) to its completion, including pauses and
   * waits. After that the export fails. Finished files stay, and the export continues when the value is raised.
   */
  readonly activeDeadlineSeconds?: number;
  /**
   * Treatment of an interval (a part of the range) that is still not proven complete after repeated searches. With
   * `Fail` the export stalls, and its condition shows the numbers of rows. With `Keep` the rows are written, and the
   * interval is marked as incomplete in the manifest and in `status.incomplete`. Rows of a search with errors are never
   * kept.
   */
  readonly incompletePolicy: 'Fail' | 'Keep';
  /**
   * Proof that no row is missing. With `Digest`, the service adds up the number, bytes and times of the messages after
   * all searches, and logfleet compares the result with the written rows. This scans the range a second time. Parts of
   * the range with a different result are searched again, up to three times. With `Count`, logfleet compares only the
   * row counts of the searches. Can be changed until the manifest is written.
   */
  readonly proof: 'Digest' | 'Count';
  /**
   * Minimum age of the data that is searched, since messages can arrive late. The minimum is `0s`, the maximum `24h`.
   */
  readonly settleDelay: string;
  /**
   * If true, no further search job starts. Running search jobs are read to their end. The annotation
   * `logfleet.dev/paused` with the value `true` has the same effect without a change of the spec.
   */
  readonly paused: boolean;
  /**
   * Time in seconds after which a completed or failed SearchExport is deleted. Its files are kept. Without it, the
   * resource is never deleted. Manifests in a directory are never deleted. A new SearchExport with the same spec finds
   * the manifest of the files and is complete immediately.
   */
  readonly ttlSecondsAfterFinished?: number;
}

/**
 * Time range to export, from `from` (included) to `to` (excluded). A time is a local time of `timeZone`
 * (`2026-11-01T00:00:00`), a time with an offset (`2026-11-01T00:00:00+01:00`), or milliseconds since the epoch in
 * quotes (`"1793491200000"`). The part of the range that is newer than now minus `settleDelay` is searched later.
 */
export interface TimeRangeSpec {
  /**
   * Start of the range, included. A local time that occurs twice means the first occurrence. A local time that a clock
   * change skips is moved forward by the length of the change.
   */
  readonly from: string;
  /** End of the range, excluded. */
  readonly to: string;
  /**
   * IANA time zone of local times, and of functions on days and hours in the query. Required for local times, otherwise
   * `UTC` by default.
   */
  readonly timeZone?: string;
}

/** Format of the files. */
export interface OutputSpec {
  /**
   * Format of the files. `NDJSON` has one JSON object in each line, exactly as the service sent it unless `fields` is
   * set. `CSV` has a header line and suits spreadsheets. `Parquet` has typed columns and suits DuckDB, Spark or pandas.
   */
  readonly format: 'NDJSON' | 'CSV' | 'Parquet';
  /**
   * Compression of the files. With Parquet, the pages inside the file are compressed. `Zstd` is faster, `Gzip` is
   * supported everywhere.
   */
  readonly compression: 'None' | 'Gzip' | 'Zstd';
  /**
   * Level of the compression, from 1 (fastest) to 9 (smallest files) for `Gzip`, and to 19 for `Zstd`. Defaults to 6
   * for `Gzip` and 3 for `Zstd`. Not allowed without compression.
   */
  readonly compressionLevel?: number;
  /**
   * Fields to write, in this order. If the list is empty, all fields are written. Use the names of the service
   * (`_messagetime`, `_raw`) and of fields that the query creates.
   */
  readonly fields: readonly string[];
  /**
   * Maximum size of a file after compression, in bytes, from `1Mi` to `32Gi`. When a file reaches this size, another
   * file begins. A file can be slightly larger, since rows are not split.
   */
  readonly maxPartSize: string;
  /**
   * Division of the data files by time. `Day` writes to `data/dt=2026-11-01/` and `Hour` to
   * `data/dt=2026-11-01/hour=13/`, so that DuckDB, Athena, Trino and Spark read only the days and hours that a query
   * needs. Days and hours are those of `timeRange.timeZone`. The time of a row is its `_messagetime`, or its
   * `_receipttime` with `byReceiptTime`. The range may have at most 9,000 partitions.
   */
  readonly partitionBy: 'None' | 'Day' | 'Hour';
  /** Settings that apply only to CSV. */
  readonly csv?: CsvSpec;
}

/** Settings that apply only to CSV. */
export interface CsvSpec {
  /**
   * Whether an apostrophe is written before cells that a spreadsheet would run as a formula. Such cells begin with `=`,
   * `+`, `-` or `@` and are not numbers. Set it to false only if no spreadsheet reads the files.
   */
  readonly formulaGuard: boolean;
}

/**
 * Destination of the files. They are written to a separate folder under `<namespace>/<name>/`. Set exactly one of
 * `volume`, `s3`, `azureBlob` and `persistentVolumeClaim`.
 */
export interface DestinationSpec {
  /** Directory that the operator's option `--volume NAME=DIR` names, usually a mounted PersistentVolumeClaim. */
  readonly volume?: VolumeSpec;
  /** Bucket of Amazon S3 or of an S3-compatible store. */
  readonly s3?: S3Spec;
  /** Container of Azure Blob Storage. Set exactly one of `account` and `endpoint`. */
  readonly azureBlob?: AzureBlobSpec;
  /**
   * PersistentVolumeClaim in the namespace of the export, which the pod of the export mounts. Only with
   * `execution.mode: Job`.
   */
  readonly persistentVolumeClaim?: ClaimSpec;
}

/** Directory that the operator's option `--volume NAME=DIR` names, usually a mounted PersistentVolumeClaim. */
export interface VolumeSpec {
  /** NAME of the volume in the operator's option `--volume NAME=DIR`. */
  readonly name: string;
  /**
   * Folder under the namespace's folder, as in `audit/2026`. Created if it does not exist. Defaults to the namespace's
   * folder.
   */
  readonly path?: string;
}

/** Bucket of Amazon S3 or of an S3-compatible store. */
export interface S3Spec {
  /** Name of the bucket. The bucket must exist. */
  readonly bucket: string;
  /** Prefix for all object names, as in `audit/2026`. The namespace's folder follows it. Empty by default. */
  readonly prefix?: string;
  /** Region of the bucket. Defaults to `us-east-1`, which stores without regions accept. */
  readonly region?: string;
  /** Address of the store, as in `https://store.example.com`. Defaults to Amazon S3. */
  readonly endpoint?: string;
  /** Whether the bucket name is part of the URL path instead of the host name. Many S3-compatible stores need this. */
  readonly forcePathStyle: boolean;
  /**
   * Secret with the credentials for the store, in the namespace of the export. It needs the keys `accessKeyId` and
   * `secretAccessKey`; `sessionToken` is optional. Without a Secret, the export uses the operator's own credentials,
   * which the operator refuses unless it runs with `--allow-ambient-credentials`.
   */
  readonly credentialsSecretRef?: {
    /** Name of the Secret. */
    readonly name: string;
  };
  /** Server-side encryption of the objects. Defaults to the setting of the bucket. */
  readonly serverSideEncryption?: ServerSideEncryptionSpec;
  /**
   * Storage class of the data files, as in `STANDARD_IA`. Defaults to the setting of the bucket. The manifest and other
   * small objects always use the bucket's setting, since they must be readable immediately.
   */
  readonly storageClass?: string;
  /**
   * Protects each object of the export against change and removal for a number of days after its upload. The bucket
   * must have object lock enabled.
   */
  readonly objectLock?: ObjectLockSpec;
  /** Allows an `http://` endpoint. Anyone on the network path can then read the rows and use the credentials. */
  readonly insecure: boolean;
}

/** Server-side encryption of the objects. Defaults to the setting of the bucket. */
export interface ServerSideEncryptionSpec {
  /**
   * Encryption algorithm. `AES256` uses keys of the store, `aws:kms` uses a key of the key management service, and
   * `aws:kms:dsse` encrypts twice with such a key.
   */
  readonly type: 'AES256' | 'aws:kms' | 'aws:kms:dsse';
  /** Id, alias or ARN of the key. Defaults to the default key of the account. Not allowed with `AES256`. */
  readonly kmsKeyID?: string;
}

/**
 * Protects each object of the export against change and removal for a number of days after its upload. The bucket must
 * have object lock enabled.
 */
export interface ObjectLockSpec {
  /**
   * `Governance`: users with the right `s3:BypassGovernanceRetention` may remove the objects. `Compliance`: no user may
   * remove the objects before the retention ends.
   */
  readonly mode: 'Governance' | 'Compliance';
  /** Number of days after the upload of an object until which the object is protected. */
  readonly retainUntilDays: number;
}

/** Container of Azure Blob Storage. Set exactly one of `account` and `endpoint`. */
export interface AzureBlobSpec {
  /** Name of the storage account. Its address is `https://ACCOUNT.blob.core.windows.net`. */
  readonly account?: string;
  /**
   * Address of the account's blob service, for accounts with another address, as in
   * `https://examplelogs.blob.core.usgovcloudapi.net`.
   */
  readonly endpoint?: string;
  /** Name of the container. The container must exist. */
  readonly container: string;
  /** Prefix for all blob names, as in `audit/2026`. The namespace's folder follows it. Empty by default. */
  readonly prefix?: string;
  /**
   * Secret with the credentials for the account, in the namespace of the export. It needs the keys `accountName` and
   * `accountKey`, or `sasToken`, or `connectionString`. Without a Secret, the export uses the operator's own
   * credentials, such as its workload identity, which the operator refuses unless it runs with
   * `--allow-ambient-credentials`.
   */
  readonly credentialsSecretRef?: {
    /** Name of the Secret. */
    readonly name: string;
  };
  /** Allows an `http://` endpoint. Anyone on the network path can then read the rows and use the credentials. */
  readonly insecure: boolean;
}

/**
 * PersistentVolumeClaim in the namespace of the export, which the pod of the export mounts. Only with `execution.mode:
 * Job`.
 */
export interface ClaimSpec {
  /** Name of the PersistentVolumeClaim. */
  readonly claimName: string;
  /** Folder in the claim, as in `logs`. The namespace's folder is below the root of the claim and contains it. */
  readonly path?: string;
}

/**
 * Process that runs the export. With `Operator`, the operator itself. With `Job`, a Kubernetes Job in the namespace of
 * the export, which needs the component `manifests/export-jobs` of the operator.
 */
export interface ExecutionSpec {
  /** Process that runs the export. It cannot be changed later. */
  readonly mode: 'Operator' | 'Job';
  /** Settings of the Kubernetes Job. A change replaces a running Job. Finished intervals stay. */
  readonly job?: ExportJobSpec;
}

/** Settings of the Kubernetes Job. A change replaces a running Job. Finished intervals stay. */
export interface ExportJobSpec {
  /**
   * Number of pods that search the intervals of the export together. Each pod uses one of the four shares of the
   * request budget. A query that cannot be divided into intervals runs in one pod.
   */
  readonly workers: number;
  /**
   * ServiceAccount of the pod, whose workload identity gives access to a store. It must have the label
   * `logfleet.dev/export-worker` with the value `true`. Without it, the pod has the ServiceAccount `default` and no
   * workload identity of its own.
   */
  readonly serviceAccountName?: string;
  /** Settings of the pod that do not change what it may access. */
  readonly template?: ExportPodTemplate;
  /**
   * Number of failed pods after which the export stalls. Pods that Kubernetes evicted do not count, and a failure that
   * a person must correct stalls at once.
   */
  readonly backoffLimitPerIndex: number;
  /** Time in seconds after which Kubernetes deletes the finished Job with its pods and their logs. */
  readonly ttlSecondsAfterFinished: number;
}

/** Settings of the pod that do not change what it may access. */
export interface ExportPodTemplate {
  /** Labels and annotations of the Job and of its pod. */
  readonly metadata?: ExportPodMetadata;
  /** Settings of the pod by which Kubernetes chooses its node and its resources. */
  readonly spec?: ExportPodSpec;
}

/** Labels and annotations of the Job and of its pod. */
export interface ExportPodMetadata {
  /** Labels, for example the name of a queue of Kueue. Labels of logfleet take precedence. */
  readonly labels?: {
    readonly [k: string]: string;
  };
  /** Annotations. Annotations of logfleet take precedence. */
  readonly annotations?: {
    readonly [k: string]: string;
  };
}

/** Settings of the pod by which Kubernetes chooses its node and its resources. */
export interface ExportPodSpec {
  /** Labels that the node of the pod must have. */
  readonly nodeSelector?: {
    readonly [k: string]: string;
  };
  /** Taints of nodes that the pod tolerates. */
  readonly tolerations?: readonly ExportPodToleration[];
  /** Resources of the container. By default it requests one CPU and 512Mi of memory, and its limit is 1Gi of memory. */
  readonly resources?: ExportPodResources;
  /** PriorityClass of the pod. */
  readonly priorityClassName?: string;
  /** Secrets with credentials for the registry of the image, in the namespace of the export. */
  readonly imagePullSecrets?: readonly ImagePullSecret[];
}

/** Toleration as in a pod. */
export interface ExportPodToleration {
  /** Key of the taint. Without it, all keys match. */
  readonly key?: string;
  /** Relation of the key to the value. */
  readonly operator?: 'Exists' | 'Equal';
  /** Value of the taint. Only with the operator `Equal`. */
  readonly value?: string;
  /** Effect of the taint. Without it, all effects match. */
  readonly effect?: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
}

/** Resources of the container. By default it requests one CPU and 512Mi of memory, and its limit is 1Gi of memory. */
export interface ExportPodResources {
  /** Requested resources, by name. */
  readonly requests?: {
    readonly [k: string]: string;
  };
  /** Limits of resources, by name. */
  readonly limits?: {
    readonly [k: string]: string;
  };
}

/** Name of a Secret. */
export interface ImagePullSecret {
  /** Name of the Secret. */
  readonly name: string;
}

/**
 * Cost limits of the export. At a limit the export fails and starts no more searches. Finished files stay, and the
 * export continues when the limit is raised.
 */
export interface LimitsSpec {
  /**
   * Number of rows after which no further search starts. Rows that running searches may still write count as well.
   * Running searches are read to their end, so the last search can exceed the limit.
   */
  readonly maxMessages?: number;
  /**
   * Maximum number of bytes that the service scans for this export, from `1Mi` to `1Pi`. Bytes scanned before a restart
   * of the export count as well. Has an effect only if the service reports scanned bytes.
   */
  readonly maxBytesScanned?: string;
}

/**
 * Observed state of the export. Only logfleet writes it. After a restart, logfleet derives the remaining work from the
 * files at the destination, not from the status.
 */
export interface SearchExportStatus {
  /** Generation of the spec that this status describes. */
  readonly observedGeneration?: number;
  /**
   * Start of the current outage. In an outage, something that the export needs does not work, for example the service
   * does not answer. Absent otherwise. After ten minutes the condition `Outage` becomes `True`.
   */
  readonly outageStartTime?: string;
  /**
   * Operators that manage this resource, each named by the namespace of its lease. Only the first operator acts, the
   * others wait. More than one operator is a configuration error, which the condition `OtherOperator` reports.
   */
  readonly operators?: readonly OperatorEntry[];
  /** Last processed value of the annotation `logfleet.dev/requestedAt`, up to 256 characters. */
  readonly lastHandledReconcileAt?: string;
  /** Short texts that the columns of `kubectl get` show. */
  readonly summary?: SummaryStatus;
  /**
   * Start of the export. Set again if the export starts over because its manifest was removed. `activeDeadlineSeconds`
   * counts from here.
   */
  readonly startTime?: string;
  /** Time at which the export completed or failed. Absent until then. `ttlSecondsAfterFinished` counts from here. */
  readonly completionTime?: string;
  /**
   * Estimated completion, at the rate of the last minutes. Absent while there is no estimate, or while the export waits
   * for a person.
   */
  readonly estimatedCompletionTime?: string;
  /** Time range of `spec.timeRange` in UTC. The end is excluded. */
  readonly timeRange?: TimeRangeStatus;
  /**
   * SHA-256 of all settings that decide the content of the files, in hexadecimal digits. The last folder of `location`
   * has this name, so files of another query are never counted.
   */
  readonly fingerprint?: string;
  /** Address of the export's folder at the destination. */
  readonly location?: string;
  /** Progress of the export: completed range, rows, bytes and speed. */
  readonly progress?: ProgressStatus;
  /** Kubernetes Job that runs the export. Only with `execution.mode` `Job`. */
  readonly kubernetesJob?: KubernetesJobStatus;
  /** Running search jobs. */
  readonly jobs?: readonly SearchJobStatus[];
  /**
   * Number of written rows in each sixtieth of `timeRange`, in order of time. The value is `-1` where the number is not
   * known. Empty until rows are written.
   */
  readonly rowHistogram?: readonly number[];
  /** Sample of the intervals that could not be proven complete, newest first. */
  readonly incomplete?: readonly IncompleteInterval[];
  /** Errors of search jobs, newest first. */
  readonly pendingErrors?: readonly string[];
  /** Warnings of search jobs, newest first. */
  readonly pendingWarnings?: readonly string[];
  /**
   * Manifest of the export. It lists every file with its number of rows and its SHA-256. Absent until the whole range
   * is done. `logfleet verify` with the address of the manifest checks the files.
   */
  readonly manifest?: ManifestStatus;
  /**
   * Conditions of the export. `Ready`, `Reconciling`, `Stalled`, `Outage` and `OtherOperator` have the form that
   * kstatus, Flux and Argo CD read. `Complete` and `Failed` are as in a Job. The message of `Ready` explains why
   * nothing is happening.
   */
  readonly conditions?: readonly Condition[];
}

/** Entry of one operator that manages this resource. */
export interface OperatorEntry {
  /** Namespace of the operator's lease, by which operators tell each other apart. */
  readonly name: string;
  /**
   * Time at which the operator first wrote its entry here. The operator with the earliest time acts, and the others
   * wait.
   */
  readonly since: string;
  /**
   * Time of the operator's latest sign of life. To check whether the other operators still run, an operator writes a
   * later time into its own entry. Each operator that still runs copies this time into its entry.
   */
  readonly seen: string;
}

/** Short texts that the columns of `kubectl get` show. */
export interface SummaryStatus {
  /** State of the export in one word. Usually the reason of the most important condition. */
  readonly state?: string;
  /** Part of the time range that is exported and proven complete, as in `42%`. */
  readonly progress?: string;
  /** Number of rows in the files, as in `1.2M`. */
  readonly rows?: string;
}

/** Time range of `spec.timeRange` in UTC. The end is excluded. */
export interface TimeRangeStatus {
  /** Start of the range, included. */
  readonly startTime: string;
  /** End of the range, excluded. */
  readonly endTime: string;
}

/** Progress of the export: completed range, rows, bytes and speed. */
export interface ProgressStatus {
  /**
   * Completed part of the time range in percent, rounded down. 100 only when the whole range is done. All planned parts
   * of the range count equally, since they have similar numbers of rows.
   */
  readonly coveredPercent: number;
  /**
   * Number of planned intervals, the parts in which the range is searched. It grows when an interval exceeds the limit
   * of the service and is split.
   */
  readonly intervalsPlanned: number;
  /** Number of intervals whose rows are written to files and proven complete. */
  readonly intervalsDone: number;
  /**
   * Number of finished intervals that are marked as incomplete under `incompletePolicy` `Keep`. Absent if there are
   * none.
   */
  readonly intervalsIncomplete?: number;
  /** Number of rows in the files. */
  readonly rowsWritten: number;
  /** Total size of the files after compression, in bytes. */
  readonly bytesWritten: number;
  /** Number of bytes that the service scanned for this export. Absent if the service does not report it. */
  readonly bytesScanned?: number;
  /** Number of duplicate rows from the service. Each of these rows is in the files once. */
  readonly duplicatesDropped: number;
  /** Rows written per second, over the last minute. Absent if no rows were written. */
  readonly rowsPerSecond?: number;
  /** Bytes of rows received per second, over the last minute. Absent if no rows were received. */
  readonly bytesPerSecond?: number;
}

/** Kubernetes Job that runs the export. Only with `execution.mode` `Job`. */
export interface KubernetesJobStatus {
  /** Name of the Job, as in `kubectl logs job/NAME`. */
  readonly name: string;
  /** Number of pods of the Job that failed. */
  readonly failedPods?: number;
}

/** Search job and the interval that it searches. */
export interface SearchJobStatus {
  /** Id of the search job at the service. */
  readonly id: string;
  /** Start of the interval (a part of the time range), included. */
  readonly from: string;
  /** End of the interval (a part of the time range), excluded. */
  readonly to: string;
  /** State of the search job at the service, as in `GATHERING RESULTS`. */
  readonly state: string;
  /** Number of messages that the job has found. */
  readonly messageCount?: number;
  /** Number of records that the job has produced. */
  readonly recordCount?: number;
}

/** Interval with figures that do not match. */
export interface IncompleteInterval {
  /** Start of the interval (a part of the time range), included. */
  readonly from: string;
  /** End of the interval (a part of the time range), excluded. */
  readonly to: string;
  /** Sentence that explains why the interval is not proven complete. */
  readonly reason: string;
  /** Number of rows that the service returned for the interval. */
  readonly received?: number;
  /**
   * Number of rows that the service counted in the interval and should have returned as `received`. Absent if unknown.
   */
  readonly expected?: number;
}

/**
 * Manifest of the export. It lists every file with its number of rows and its SHA-256. Absent until the whole range is
 * done. `logfleet verify` with the address of the manifest checks the files.
 */
export interface ManifestStatus {
  /** Address of the manifest. */
  readonly url: string;
  /** SHA-256 of the manifest itself, in hexadecimal digits. */
  readonly sha256: string;
  /** Number of rows in all data files of the export. */
  readonly rows: number;
  /** Number of data files that the manifest lists. */
  readonly files: number;
  /** Total size of the files after compression, in bytes. */
  readonly bytes: number;
  /** Whether every interval is proven complete. False if an incomplete interval was kept. */
  readonly complete: boolean;
  /**
   * Lowest level of proof of any part of the range. `Digest` means that the number, bytes and times of the messages
   * match an aggregation of the service. `Count` means that the number of messages matches an aggregation. `Search`
   * means that it matches the count of the search itself. `None` means that a part of the range is marked as
   * incomplete.
   */
  readonly proof?: 'Digest' | 'Count' | 'Search' | 'None';
}

/** One aspect of the export's state. */
export interface Condition {
  /** Type of the condition, as in `Ready`. */
  readonly type: string;
  /** Whether the condition holds. */
  readonly status: 'True' | 'False' | 'Unknown';
  /** Generation of the spec that this condition describes. */
  readonly observedGeneration?: number;
  /** Time of the last change of `status`. */
  readonly lastTransitionTime: string;
  /** Reason of the condition's current status, as one CamelCase word for programs. */
  readonly reason: string;
  /** Explanation of the condition's current status for people: what is wrong, and what to do. */
  readonly message: string;
}
