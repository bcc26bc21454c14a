/**
 * Builds the Kubernetes Job of an export. The pod runs `logfleet export` with the export's manifest, which it reads from an annotation of
 * its own. Secrets are mounted as files. The pod meets the Pod Security Standard `restricted`. It gets a token of the API server only to
 * show its progress.
 */
import { createHash } from 'node:crypto';
import type { HeldShare } from '../../account/worker-shares.ts';
import { annotations } from '../../api/annotations.ts';
import type { SearchExport } from '../../api/kinds.ts';
import { apiGroup, apiVersionName } from '../../api/kinds.ts';
import { canonicalText } from '../../base/canonical-text.ts';
import { isRecord } from '../../base/record.ts';
import { exportLabel } from '../../host/worker-jobs.ts';
import { claimVolume, manifestFile, needsPersonStatus, workerFolders, workerVariables } from './worker-environment.ts';

/** Annotations of a Job. Its pods have them, too. */
export const jobAnnotations = {
  /** Hash of everything that decides what the pod does. A Job with another hash is replaced. */
  work: 'logfleet.dev/work',
  /** Hash of the request of a person and of the credentials. A Job that has ended with another hash is replaced. */
  cause: 'logfleet.dev/cause',
  /** Share of the request budget, in JSON. */
  share: 'logfleet.dev/share',
  /** Manifest of the export for the pod. */
  manifest: 'logfleet.dev/search-export',
} as const;

/** Exit status of `logfleet export` for invalid input. */
const usageStatus = 2;
const userId = 65_532;
/** Limits that a Job has by default (`spec.execution.job`). */
const jobDefaults = { backoffLimitPerIndex: 6, ttlSecondsAfterFinished: 3_600 } as const;
const defaultResources = { requests: { cpu: '1', memory: '512Mi' }, limits: { memory: '1Gi' } } as const;

export interface JobInput {
  readonly resource: SearchExport;
  readonly image: string;
  readonly share: HeldShare;
  /** Hash of the credentials of the service and of the store. It reveals nothing about them. */
  readonly credentials: string;
  /** True if the pods get a token of the API server, with which they show their progress in status. */
  readonly showsProgress?: boolean;
}

export interface BuiltJob {
  readonly name: string;
  readonly manifest: object;
}

/** Hash of everything that decides what the pods of an export's Job do. */
export function workHash({ resource, share }: Pick<JobInput, 'resource' | 'share'>): string {
  const { execution, activeDeadlineSeconds } = resource.spec;
  return hashOf([workerManifest(resource), execution.job, activeDeadlineSeconds, share]);
}

/** Hash of what may let a failed Job succeed: a person's request, changed credentials, and another version of the image. */
export function causeHash({
  resource,
  credentials,
  image,
}: Pick<JobInput, 'resource' | 'credentials' | 'image'>): string {
  return hashOf([resource.metadata.annotations[annotations.requestedAt], credentials, image]);
}

/** Name of a Job. The same work for the same cause has the same name, so a Job is never created twice. */
export function jobName(input: JobInput): string {
  const { name, uid } = input.resource.metadata;
  const hash = hashOf([uid, workHash(input), causeHash(input)]).slice(0, 10);
  // The hostname of a pod is the name of its Job with an index, and has at most 63 characters without dots.
  const readable = name.slice(0, 45).replaceAll('.', '-').replace(/-+$/, '');
  return `${readable}-${hash}`;
}

export function buildJob(input: JobInput): BuiltJob {
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
  const name = jobName(input);
  const manifest = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      ...{ name, namespace: metadata.namespace, labels },
      annotations: {
        ...given.annotations,
        ...own,
        [jobAnnotations.work]: workHash(input),
        [jobAnnotations.cause]: causeHash(input),
      },
      ownerReferences: [
        {
          apiVersion: `${apiGroup}/${apiVersionName}`,
          kind: 'SearchExport',
          ...{ name: metadata.name, uid: metadata.uid, controller: true },
        },
      ],
    },
    spec: {
      completionMode: 'Indexed',
      ...{ completions: share.workers, parallelism: share.workers, backoffLimitPerIndex, ttlSecondsAfterFinished },
      // One worker that has written the manifest completes the export, even if another pod has no node.
      successPolicy: { rules: [{ succeededCount: 1 }] },
      // The share of a pod is free for another pod only when the pod has ended.
      podReplacementPolicy: 'Failed',
      podFailurePolicy: {
        rules: [
          { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
          {
            action: 'FailJob',
            onExitCodes: { containerName: 'export', operator: 'In', values: [usageStatus, needsPersonStatus] },
          },
        ],
      },
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
  return { name, manifest };
}

function podSpec(input: JobInput): object {
  const { resource, image, share, showsProgress = false } = input;
  const { spec } = resource;
  const { serviceAccountName, template } = spec.execution.job ?? {};
  const { persistentVolumeClaim: claim } = spec.destination;
  const { resources = defaultResources, ...placement } = template?.spec ?? {};
  const secrets = secretNames(resource);
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
    containers: [
      {
        name: 'export',
        image,
        args: [
          'export',
          `${workerFolders.export}/${manifestFile}`,
          ...['--log-format=json', '--log-level=info'],
          ...(claim ? [`--volume=${claimVolume}=${workerFolders.claim}`] : []),
        ],
        env: [
          { name: workerVariables.report, value: '/dev/termination-log' },
          { name: workerVariables.secrets, value: workerFolders.secrets },
          { name: workerVariables.user, value: share.user },
          { name: workerVariables.workers, value: String(share.workers) },
          { name: workerVariables.job, value: jobName(input) },
          { name: workerVariables.exportUid, value: resource.metadata.uid },
          { name: workerVariables.requestsPerSecond, value: String(share.share.requestsPerSecond) },
          { name: workerVariables.maxConcurrentRequests, value: String(share.share.maxConcurrentRequests) },
        ],
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
          ...secrets.map((secret, index) => ({
            ...{ name: `secret-${index}`, mountPath: `${workerFolders.secrets}/${secret}`, readOnly: true },
          })),
          ...(claim ? [{ name: 'claim', mountPath: workerFolders.claim }] : []),
        ],
      },
    ],
    volumes: [
      {
        name: 'export',
        downwardAPI: {
          items: [
            { path: manifestFile, fieldRef: { fieldPath: `metadata.annotations['${jobAnnotations.manifest}']` } },
          ],
        },
      },
      { name: 'tmp', emptyDir: {} },
      ...secrets.map((secretName, index) => ({ name: `secret-${index}`, secret: { secretName } })),
      ...(claim ? [{ name: 'claim', persistentVolumeClaim: { claimName: claim.claimName } }] : []),
    ],
  };
}

/** Names of all Secrets that a spec refers to in a member `credentialsSecretRef`, each once. */
export function secretNames({ spec }: Pick<SearchExport, 'spec'>): readonly string[] {
  const { credentialsSecretRef, destination } = spec;
  return [...new Set([credentialsSecretRef.name, ...namesIn(destination)])];
}

function namesIn(value: unknown): readonly string[] {
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([member, inner]) => {
    const isReference = member === 'credentialsSecretRef' && isRecord(inner) && typeof inner['name'] === 'string';
    return isReference ? [String(inner['name'])] : namesIn(inner);
  });
}

/**
 * Manifest that the pod runs, in JSON. Kubernetes and the operator carry out everything about Job, pause and end, and a claim is a volume
 * of the pod. The fingerprint contains none of these members, so operator and pod write to the same folder (E1).
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

/** Reads the share in the annotations of a Job or pod; undefined if there is none. */
export function readShare(from: Readonly<Record<string, string>>): HeldShare | undefined {
  try {
    const { user, workers, share } = JSON.parse(from[jobAnnotations.share] ?? '{}') as Partial<HeldShare>;
    const isWhole = typeof user === 'string' && isPositive(workers) && share !== undefined;
    if (!isWhole || !isPositive(share.requestsPerSecond) || !isPositive(share.maxConcurrentRequests)) return undefined;
    return { user, workers, share };
  } catch {
    return undefined;
  }
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && value > 0;
}
