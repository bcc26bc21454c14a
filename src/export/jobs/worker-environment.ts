/** Environment variables and folders by which the operator passes an export to a worker (a pod of a Kubernetes Job). */

/** Environment variables of a worker. The operator sets all of them except the index. */
export const workerVariables = {
  /** File for the report of the worker. Its presence makes `logfleet export` a worker. */
  report: 'LOGFLEET_WORKER_REPORT',
  /** Folder with one folder for each Secret, in which each key is a file. */
  secrets: 'LOGFLEET_WORKER_SECRETS',
  /** User of the service that owns the share, as `userIdOf` names it. */
  user: 'LOGFLEET_WORKER_USER',
  /** Number of workers of the export. */
  workers: 'LOGFLEET_WORKERS',
  /** Number of this worker, from 0. Kubernetes sets this variable in the pods of an Indexed Job. */
  index: 'JOB_COMPLETION_INDEX',
  /** Name of the Kubernetes Job of the worker. */
  job: 'LOGFLEET_WORKER_JOB',
  /** Uid of the SearchExport. */
  exportUid: 'LOGFLEET_WORKER_EXPORT_UID',
  requestsPerSecond: 'LOGFLEET_WORKER_REQUESTS_PER_SECOND',
  maxConcurrentRequests: 'LOGFLEET_WORKER_MAX_CONCURRENT_REQUESTS',
} as const;

/** Folders in the container of a worker. */
export const workerFolders = {
  export: '/logfleet-worker/export',
  secrets: '/logfleet-worker/secrets',
  claim: '/logfleet-worker/claim',
} as const;

export const manifestFile = 'export.json';
/** Name of the claim's volume in the worker's manifest. */
export const claimVolume = 'claim';

/**
 * Exit status of a worker if a person must correct something before another try can succeed. It differs from the statuses of crashes and
 * signals, after which Kubernetes starts another pod.
 */
export const needsPersonStatus = 3;
