/**
 * Builds the Kubernetes Job for an export. Its pods run `logfleet export`, read Secrets from mounted files, and comply
 * with the Pod Security Standard `restricted`.
 */
import { createHash } from 'node:crypto';
import type { HeldShare } from '../../account/worker-shares.ts';
import type { SearchExport } from '../../api/kinds.ts';
import { apiVersion } from '../../api/kinds.ts';
import { canonicalText } from '../../base/canonical-text.ts';
import type { ProxyVariable } from '../../base/proxy-environment.ts';
import { isRecord, recordOfJson } from '../../base/record.ts';
import { echoOfRequest } from '../../controller/status-text.ts';
import { exportLabel } from '../../host/worker-jobs.ts';
import { secretNames } from '../resource/export-resource.ts';
import {
  claimVolume,
  exportManifestFile,
  needsPersonStatus,
  workerFolders,
  workerVariables,
} from './worker-environment.ts';

/** Annotations on a Job and its pods. */
export const jobAnnotations = {
  /**
   * Hash of everything in the SearchExport that determines what the pods do. If this hash changes, the Job is replaced.
   */
  work: 'logfleet.dev/work',
  /**
   * Hash of everything outside the spec that may decide whether a stalled Job succeeds, such as credentials and image.
   * If this hash changes, a stalled Job is replaced.
   */
  cause: 'logfleet.dev/cause',
  /** The Job's share of the request budget, as JSON. */
  share: 'logfleet.dev/share',
  /** Manifest of the export, for the pod to read. */
  manifest: 'logfleet.dev/search-export',
} as const;

/** Exit status of `logfleet export` after invalid input. */
const usageStatus = 2;
const userId = 65_532;
/** Default limits of a Job (`spec.execution.job`). */
const jobDefaults = { backoffLimitPerIndex: 6, ttlSecondsAfterFinished: 3_600 } as const;
/**
 * Rules for pod failures: some failures are ignored, and others end the Job. After any other failure, the pod is
 * replaced.
 */
const podFailurePolicy = {
  rules: [
    { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
    {
      action: 'FailJob',
      onExitCodes: { containerName: 'export', operator: 'In', values: [usageStatus, needsPersonStatus] },
    },
  ],
} as const;
const defaultResources = { requests: { cpu: '1', memory: '512Mi' }, limits: { memory: '1Gi' } } as const;

/** What determines the name of a Job. */
export interface JobIdentity {
  readonly resource: SearchExport;
  readonly image: string;
  readonly share: Pick<HeldShare, 'user'>;
  /** Hash of the credentials for the service and the store. */
  readonly credentials: string;
  /** Environment variables with the operator's proxy settings. */
  readonly proxy?: readonly ProxyVariable[];
}

export interface JobInput extends JobIdentity {
  readonly share: HeldShare;
  /**
   * True if the pods get a token for their ServiceAccount. The pods need the token to write progress to the export's
   * status.
   */
  readonly showsProgress?: boolean;
}

/**
 * Returns a hash of everything in the SearchExport that determines what the pods do. The credentials, the image and the
 * request limits do not affect this hash.
 */
export function workHash(resource: SearchExport): string {
  const { execution, activeDeadlineSeconds } = resource.spec;
  return hashOf([workerManifest(resource), execution.job, activeDeadlineSeconds]);
}

/**
 * Returns a hash of an export's work, and of the user's last request to repeat the work. If this hash changes, results
 * of earlier Jobs no longer count.
 */
export function runHash(resource: SearchExport): string {
  // After a request has been handled, a user may remove its annotation. The removal does not count as another request.
  const request = echoOfRequest(resource).lastHandledReconcileAt ?? resource.status?.lastHandledReconcileAt;
  return hashOf([resource.metadata.uid, workHash(resource), request]);
}

/**
 * Returns a hash of everything outside the spec that may decide whether a stalled Job succeeds, such as credentials and
 * image.
 */
export function causeHash({ share, credentials, image, proxy = [] }: Omit<JobIdentity, 'resource'>): string {
  return hashOf([share.user, credentials, image, ...proxy]);
}

/**
 * Returns the name of a Job. The name ends with hashes of the Job's work, request, credentials and image, so the same
 * Job cannot be created twice.
 */
export function jobName(identity: JobIdentity): string {
  // Shortens the name, because it becomes part of a pod's hostname, which has at most 63 characters.
  const readable = identity.resource.metadata.name.slice(0, 40).replaceAll('.', '-').replace(/-+$/, '');
  return `${readable}-${shortHash(runHash(identity.resource))}${shortHash(causeHash(identity))}`;
}

/**
 * Returns true if a Job with this name belongs to the export's current run (see `runHash`). The credentials and the
 * image may have changed since the Job was created.
 */
export function isOfRun(jobName: string, resource: SearchExport): boolean {
  return jobName.slice(-2 * shortHashLength, -shortHashLength) === shortHash(runHash(resource));
}

const shortHashLength = 8;

function shortHash(hash: string): string {
  return hash.slice(0, shortHashLength);
}

/** Returns the manifest of the Job. */
export function buildJob(input: JobInput): object {
  const { resource, share } = input;
  const { metadata, spec } = resource;
  const { template, backoffLimitPerIndex, ttlSecondsAfterFinished } = { ...jobDefaults, ...spec.execution.job };
  const given = template?.metadata ?? {};
  const labels = {
    ...given.labels,
    'app.kubernetes.io/name': 'logfleet-export',
    'app.kubernetes.io/managed-by': 'logfleet',
    [exportLabel]: metadata.uid,
  };
  const own = { [jobAnnotations.share]: JSON.stringify(share) };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      ...{ name: jobName(input), namespace: metadata.namespace, labels },
      annotations: {
        ...given.annotations,
        ...own,
        [jobAnnotations.work]: workHash(resource),
        [jobAnnotations.cause]: causeHash(input),
      },
      ownerReferences: [ownerReference(metadata)],
    },
    spec: {
      completionMode: 'Indexed',
      ...{ completions: share.workers, parallelism: share.workers, backoffLimitPerIndex, ttlSecondsAfterFinished },
      // The Kubernetes Job succeeds as soon as one worker has written the manifest.
      successPolicy: { rules: [{ succeededCount: 1 }] },
      // A replacement pod starts only after the replaced pod has ended. If both ran at the same time, they could exceed
      // the request limits.
      podReplacementPolicy: 'Failed',
      podFailurePolicy,
      ...(spec.activeDeadlineSeconds === undefined ? {} : { activeDeadlineSeconds: spec.activeDeadlineSeconds }),
      template: {
        metadata: {
          labels,
          annotations: { ...given.annotations, ...own, [jobAnnotations.manifest]: workerManifest(resource) },
        },
        spec: podSpec(input),
      },
    },
  };
}

/** Returns the owner reference that makes Kubernetes delete the Job together with its export. */
function ownerReference({ name, uid }: SearchExport['metadata']): object {
  return { apiVersion, kind: 'SearchExport', name, uid, controller: true };
}

function podSpec(input: JobInput): object {
  const { resource, showsProgress = false } = input;
  const { serviceAccountName, template } = resource.spec.execution.job ?? {};
  const { resources = defaultResources, ...placement } = template?.spec ?? {};
  return {
    ...placement,
    ...(serviceAccountName === undefined ? {} : { serviceAccountName }),
    automountServiceAccountToken: showsProgress,
    enableServiceLinks: false,
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 30,
    securityContext: {
      runAsNonRoot: true,
      ...{ runAsUser: userId, runAsGroup: userId, fsGroup: userId, fsGroupChangePolicy: 'OnRootMismatch' },
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [exportContainer(input, resources)],
    volumes: podVolumes(resource),
  };
}

/** Returns the container that runs `logfleet export`. */
function exportContainer(input: JobInput, resources: object): object {
  const { resource, image } = input;
  const { persistentVolumeClaim: claim } = resource.spec.destination;
  return {
    name: 'export',
    image,
    args: [
      'export',
      `${workerFolders.export}/${exportManifestFile}`,
      ...['--log-format=json', '--log-level=info'],
      ...(claim ? [`--volume=${claimVolume}=${workerFolders.claim}`] : []),
    ],
    env: containerVariables(input),
    resources,
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    terminationMessagePolicy: 'File',
    volumeMounts: [
      { name: 'export', mountPath: workerFolders.export, readOnly: true },
      { name: 'tmp', mountPath: '/tmp' },
      ...secretNames(resource).map((secret, index) => ({
        ...{ name: `secret-${index}`, mountPath: `${workerFolders.secrets}/${secret}`, readOnly: true },
      })),
      ...(claim ? [{ name: 'claim', mountPath: workerFolders.claim }] : []),
    ],
  };
}

/** Returns the container's environment variables: paths, Job name, share of the request budget, and proxies. */
function containerVariables(input: JobInput): readonly object[] {
  const { resource, share, proxy = [] } = input;
  return [
    { name: workerVariables.report, value: '/dev/termination-log' },
    { name: workerVariables.secrets, value: workerFolders.secrets },
    { name: workerVariables.user, value: share.user },
    { name: workerVariables.workers, value: String(share.workers) },
    { name: workerVariables.job, value: jobName(input) },
    { name: workerVariables.exportUid, value: resource.metadata.uid },
    { name: workerVariables.requestsPerSecond, value: String(share.share.requestsPerSecond) },
    { name: workerVariables.maxConcurrentRequests, value: String(share.share.maxConcurrentRequests) },
    ...proxy,
  ];
}

/**
 * Returns the volumes for the export's manifest, temporary files, the Secrets, and the export's PersistentVolumeClaim.
 */
function podVolumes(resource: SearchExport): readonly object[] {
  const { persistentVolumeClaim: claim } = resource.spec.destination;
  return [
    {
      name: 'export',
      downwardAPI: {
        items: [
          { path: exportManifestFile, fieldRef: { fieldPath: `metadata.annotations['${jobAnnotations.manifest}']` } },
        ],
      },
    },
    { name: 'tmp', emptyDir: {} },
    ...secretNames(resource).map((secretName, index) => ({ name: `secret-${index}`, secret: { secretName } })),
    ...(claim ? [{ name: 'claim', persistentVolumeClaim: { claimName: claim.claimName } }] : []),
  ];
}

/**
 * Returns the SearchExport as JSON that is passed to a pod. Fields that only the operator uses are left out. These
 * fields do not affect the fingerprint (E1).
 */
export function workerManifest({ apiVersion, kind, metadata, spec }: SearchExport): string {
  const { execution: _, paused: __, ttlSecondsAfterFinished: ___, activeDeadlineSeconds: ____, ...rest } = spec;
  const { persistentVolumeClaim: claim, ...destination } = rest.destination;
  const volume = claim && { name: claimVolume, ...(claim.path === undefined ? {} : { path: claim.path }) };
  const { name, namespace } = metadata;
  return canonicalText({
    ...{ apiVersion, kind, metadata: { name, namespace } },
    spec: { ...rest, destination: volume ? { volume } : destination },
  });
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(canonicalText(value)).digest('hex').slice(0, 32);
}

/** Reads the request limits of a Job from its annotations. Returns undefined if they are missing or invalid. */
export function readShare(from: Readonly<Record<string, string>>): HeldShare | undefined {
  const { user, workers, share } = recordOfJson(from[jobAnnotations.share] ?? '') ?? {};
  if (typeof user !== 'string' || !isPositive(workers) || !isRecord(share)) return undefined;
  const { requestsPerSecond, maxConcurrentRequests } = share;
  if (!isPositive(requestsPerSecond) || !isPositive(maxConcurrentRequests)) return undefined;
  return { user, workers, share: { requestsPerSecond, maxConcurrentRequests } };
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && value > 0;
}
