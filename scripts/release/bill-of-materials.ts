/**
 * Writes the software bill of materials (SBOM) of a release in CycloneDX format: the npm packages in the bundle, and
 * Node.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { BundledPackage } from './bundled-packages.ts';
import type { RuntimePackage } from './node-runtime.ts';
import { packageVersion } from './program-folder.ts';

const root = join(import.meta.dirname, '../..');

interface Component {
  readonly name: string;
  readonly version: string;
  readonly 'bom-ref': string;
}

interface Bom {
  readonly metadata: { readonly component: object };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/**
 * Renders the SBOM from npm's list of packages. Packages that are not in the bundle are omitted. The same sources give
 * the same text.
 */
export function renderBillOfMaterials(
  packages: readonly BundledPackage[],
  runtimes: readonly RuntimePackage[],
  time: Date,
): string {
  const bundled = new Set(packages.map(({ name, version }) => `${name}@${version}`));
  const all = npmBillOfMaterials();
  const components = all.components.filter(({ name, version }) => bundled.has(`${name}@${version}`));
  const missing = packages.filter(
    (each) => !components.some(({ name, version }) => name === each.name && version === each.version),
  );
  if (missing.length > 0) throw new Error(`npm sbom does not list ${missing.map(({ name }) => name).join(', ')}.`);
  const references = new Set(components.map((component) => component['bom-ref']));
  const own = `logfleet@${packageVersion()}`;
  const nodes = runtimes.map(nodeComponent);
  const nodeReferences = nodes.map((node) => node['bom-ref']);
  const dependencies = all.dependencies
    .filter(({ ref }) => ref === own || references.has(ref))
    .map(({ ref, dependsOn }) => {
      const listed = dependsOn.filter((each) => references.has(each));
      return { ref, dependsOn: ref === own ? [...listed, ...nodeReferences] : listed };
    });
  const listed = { components: [...components.map(shipped), ...nodes], dependencies };
  return `${JSON.stringify({ ...all, serialNumber: serialNumber(listed), metadata: metadata(all, time), ...listed }, null, 2)}\n`;
}

function npmBillOfMaterials(): Bom {
  const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
  return JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: 1e9 }));
}

/**
 * Returns the metadata of the published package. npm's own metadata would describe the checkout, and would contain
 * npm's version.
 */
function metadata({ metadata }: Bom, time: Date): object {
  const component = { ...metadata.component, name: 'logfleet', properties: [] };
  const lifecycles = [{ phase: 'build' }];
  return { ...metadata, timestamp: time.toISOString(), lifecycles, tools: [{ vendor: 'npm', name: 'cli' }], component };
}

/** Marks a bundled package as required. npm's list may wrongly mark it as optional or as a development dependency. */
function shipped(component: Component): Component {
  return { ...component, scope: 'required', properties: [] } as Component;
}

function nodeComponent({ name, version, integrity }: RuntimePackage) {
  const content = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');
  return {
    'bom-ref': `${name}@${version}`,
    type: 'platform',
    scope: 'required',
    name,
    version,
    purl: `pkg:npm/${name}@${version}`,
    hashes: [{ alg: 'SHA-512', content }],
  };
}

/** Returns a UUID that depends only on the content. */
function serialNumber(content: object): string {
  const hex = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return `urn:uuid:${parts.join('-')}`;
}
