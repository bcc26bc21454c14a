/**
 * `logfleet manifests`: prints the Kubernetes manifests that install logfleet, for `kubectl apply -f -`. `kubectl
 * kustomize` generates the same output from the same folders of manifests.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type Document, parse, parseAllDocuments } from 'yaml';
import { type CommandContext, exitStatus } from './command/context.ts';
import type { ManifestsOptions } from './command/options.ts';
import { inPackage } from './command/package-folder.ts';
import { UsageError } from './command/usage-error.ts';

const directory = inPackage('manifests');
const namespaceForm = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const secretForm = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/;
/** Cluster-scoped kinds, which belong to no namespace. */
const clusterKinds = ['CustomResourceDefinition', 'ClusterRole', 'ClusterRoleBinding'];

/** Flags of `logfleet manifests`, with the operator's namespace. */
type PlacedOptions = ManifestsOptions & { readonly namespace: string };

export async function manifestsCommand(flags: ManifestsOptions, context: CommandContext): Promise<number> {
  const { namespaces } = flags;
  const options: PlacedOptions = { ...flags, namespace: flags.namespace ?? namespaces?.[0] ?? 'logfleet' };
  assertNames(options);
  const installed = namespaces ? forNamespaces(namespaces, options) : readPlaced('cluster-wide', options);
  const { exportJobs, notificationSecret } = options;
  const added = [
    ...(notificationSecret === undefined ? [] : addNotifications(installed, notificationSecret, options)),
    ...(exportJobs ? addExportJobs(installed, options) : []),
  ];
  context.stdout.write([...installed, ...added].map(render).join(''));
  return exitStatus.ok;
}

/**
 * Reads the manifests of a kustomization. Sets their namespace, and applies the other flags of `logfleet manifests`.
 */
function readPlaced(folder: string, options: PlacedOptions): readonly Document[] {
  const documents = readFolder(folder);
  for (const document of documents) place(document, options.namespace, options);
  return documents;
}

function forNamespaces(namespaces: readonly string[], options: PlacedOptions): readonly Document[] {
  const base = readPlaced('base', options);
  setVariable(base, 'LOGFLEET_NAMESPACES', () => namespaces.join());
  const bindings = [...new Set(namespaces)].flatMap((namespace) => {
    const documents = readFile('namespaced/operator-binding.yaml');
    for (const document of documents) place(document, namespace, options);
    return documents;
  });
  return [...base, ...bindings];
}

/**
 * Adds the name of the webhook's Secret to the operator's Deployment. Returns the Role that lets the operator read the
 * Secret.
 */
function addNotifications(installed: readonly Document[], secret: string, options: PlacedOptions): readonly Document[] {
  setVariable(installed, 'LOGFLEET_NOTIFICATION_SECRET', () => secret);
  const documents = readPlaced('notifications', options);
  for (const document of documents) {
    if (kindOf(document) === 'Role') document.setIn(['rules', 0, 'resourceNames'], [secret]);
  }
  return documents;
}

/**
 * Sets the image for the pods of export Jobs, in an environment variable of the operator's Deployment. Returns the
 * roles that exports in Kubernetes Jobs need.
 */
function addExportJobs(installed: readonly Document[], options: PlacedOptions): readonly Document[] {
  setVariable(installed, 'LOGFLEET_WORKER_IMAGE', (deployment) => deployment.getIn([...container, 'image']));
  const { namespaces } = options;
  if (!namespaces) return readPlaced('export-jobs', options);
  return [...new Set(namespaces)].flatMap((namespace) => {
    const documents = readFolder('export-jobs');
    for (const document of documents) {
      document.set('kind', kindOf(document).replace('Cluster', ''));
      if (document.hasIn(['roleRef'])) document.setIn(['roleRef', 'kind'], 'Role');
      place(document, namespace, options);
    }
    return documents;
  });
}

function setVariable(documents: readonly Document[], name: string, value: (deployment: Document) => unknown): void {
  for (const document of documents) {
    if (kindOf(document) !== 'Deployment') continue;
    document.addIn([...container, 'env'], { name, value: value(document) });
  }
}

function render(document: Document): string {
  const text = document.toString({ lineWidth: 0, flowCollectionPadding: false });
  return text.startsWith('---\n') ? text : `---\n${text}`;
}

const container = ['spec', 'template', 'spec', 'containers', 0];

/** Sets the namespace in a Kubernetes object, and applies the flags of `logfleet manifests` to the object. */
function place(document: Document, namespace: string, options: PlacedOptions): void {
  const kind = kindOf(document);
  if (kind === 'Namespace') document.setIn(['metadata', 'name'], namespace);
  else if (!clusterKinds.includes(kind)) document.setIn(['metadata', 'namespace'], namespace);
  if (document.hasIn(['subjects', 0])) document.setIn(['subjects', 0, 'namespace'], options.namespace);
  if (kind === 'Deployment' && options.image !== undefined) document.setIn([...container, 'image'], options.image);
  if (options.secrets && document.getIn(['rules', 0, 'resources', 0]) === 'secrets') {
    document.setIn(['rules', 0, 'resourceNames'], options.secrets);
  }
}

function readFolder(folder: string): readonly Document[] {
  const text = readFileSync(path.join(directory, folder, 'kustomization.yaml'), 'utf8');
  const { resources } = parse(text) as { readonly resources: readonly string[] };
  return resources.flatMap((name) => {
    const resource = path.join(folder, name);
    return name.endsWith('.yaml') ? readFile(resource) : readFolder(resource);
  });
}

function readFile(file: string): readonly Document[] {
  return [...parseAllDocuments(readFileSync(path.join(directory, file), 'utf8'))] as readonly Document[];
}

function kindOf(document: Document): string {
  return String(document.get('kind'));
}

function assertNames({ namespace, namespaces = [], secrets = [], notificationSecret }: PlacedOptions): void {
  const secretNames = [...secrets, ...(notificationSecret === undefined ? [] : [notificationSecret])];
  const wrong =
    [namespace, ...namespaces].find((name) => !namespaceForm.test(name)) ??
    secretNames.find((name) => !secretForm.test(name));
  if (wrong === undefined) return;
  throw new UsageError(
    `${JSON.stringify(wrong)} is not a valid name in Kubernetes; write lower-case letters, digits and hyphens`,
  );
}

const crdFolder = inPackage('crds');

export async function crdsCommand(_: object, context: CommandContext): Promise<number> {
  const files = readdirSync(crdFolder).filter((name) => name.endsWith('.yaml'));
  const texts = files.sort().map((name) => readFileSync(path.join(crdFolder, name), 'utf8'));
  context.stdout.write(texts.join('---\n'));
  return exitStatus.ok;
}
