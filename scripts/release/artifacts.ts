/**
 * Builds the archives of a release:
 *
 * - the npm package,
 * - for each platform, a tarball with Node, which is also the krew plugin `kubectl logfleet`,
 * - the layer of the operator's image,
 * - the Helm chart.
 */
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeArchive } from './archive.ts';
import type { BundledPackage } from './bundled-packages.ts';
import { type NodeRuntime, nodeRuntime, type Platform, platforms } from './node-runtime.ts';
import { addSources, packageVersion, writeProgram } from './program-folder.ts';

const chart = join(import.meta.dirname, '../../charts/logfleet');
const startScript = join(import.meta.dirname, 'start.sh');
/** Names of the program in a tarball. The name `kubectl-logfleet` makes the program a kubectl plugin. */
const programNames = ['logfleet', 'kubectl-logfleet'];

/** Kinds of archives: `npm`, `layer` (of the operator's image), `chart` (Helm), and a tarball for each platform. */
export const artifactKinds = ['npm', 'layer', 'chart', ...platforms] as const;
export type ArtifactKind = (typeof artifactKinds)[number];

export async function writeArtifact(kind: ArtifactKind, program: ProgramFolder, out: string): Promise<string> {
  switch (kind) {
    case 'npm':
      return writeNpmPackage(program, out);
    case 'layer':
      return writeImageLayer(program, out);
    case 'chart':
      return writeChart(program.mtime, out);
    default:
      return writeTarball(program, kind, await nodeRuntime(kind), out);
  }
}

/** Folder with the program, without its sources. */
export interface ProgramFolder {
  readonly folder: string;
  readonly packages: readonly BundledPackage[];
  /** Time of the commit. All files in the archives get this modification time. */
  readonly mtime: Date;
}

/** Writes the program to a temporary folder, calls `use` with that folder, and then removes the folder. */
export async function withProgram<T>(mtime: Date, use: (program: ProgramFolder) => Promise<T>): Promise<T> {
  const temporary = mkdtempSync(join(tmpdir(), 'logfleet-package-'));
  try {
    const folder = join(temporary, 'program');
    return await use({ folder, packages: await writeProgram(folder), mtime });
  } finally {
    rmSync(temporary, { recursive: true });
  }
}

/** Writes the npm package to a folder, and returns its path. */
export function writeNpmPackage(program: ProgramFolder, out: string): string {
  const file = join(out, `logfleet-${packageVersion()}.tgz`);
  const folder = copyWithSources(program, 'npm');
  writeArchive(folder, file, { prefix: 'package', mtime: program.mtime });
  rmSync(folder, { recursive: true });
  return file;
}

/** Copies the program to a new folder, adds its sources, and returns the path of the folder. */
function copyWithSources({ folder }: ProgramFolder, name: string): string {
  const copy = `${folder}-${name}`;
  cpSync(folder, copy, { recursive: true });
  addSources(copy);
  return copy;
}

/** Writes the image layer, which contains only what the operator needs at run time. Returns the layer's path. */
export function writeImageLayer({ folder, mtime }: ProgramFolder, out: string): string {
  const file = join(out, `logfleet-${packageVersion()}-image-layer.tar.gz`);
  const includes = (path: string) => !path.endsWith('.map');
  writeArchive(folder, file, { prefix: 'logfleet', mtime, includes });
  return file;
}

/**
 * Writes the Helm chart and returns its path. Does not use `helm package`, because its archives contain the build time.
 */
export function writeChart(mtime: Date, out: string): string {
  const file = join(out, `logfleet-${packageVersion()}-chart.tgz`);
  const temporary = mkdtempSync(join(tmpdir(), 'logfleet-chart-'));
  try {
    // The archive is made from a copy of the chart, because `writeArchive` changes the permissions of the files.
    cpSync(chart, temporary, { recursive: true });
    writeArchive(temporary, file, { prefix: 'logfleet', mtime });
  } finally {
    rmSync(temporary, { recursive: true });
  }
  return file;
}

export function writeTarball(program: ProgramFolder, platform: Platform, node: NodeRuntime, out: string): string {
  const name = tarballName(platform);
  const folder = copyWithSources(program, platform);
  rmSync(join(folder, 'bin'), { recursive: true });
  for (const inner of ['bin', 'runtime']) mkdirSync(join(folder, inner));
  for (const each of programNames) copyFileSync(startScript, join(folder, 'bin', each));
  copyFileSync(node.program, join(folder, 'runtime/node'));
  copyFileSync(node.license, join(folder, 'runtime/LICENSE'));
  const file = join(out, `${name}.tar.gz`);
  writeArchive(folder, file, { prefix: name, mtime: program.mtime });
  rmSync(folder, { recursive: true });
  return file;
}

/** Returns the name of a platform's tarball, without its extension. The folder in the tarball has the same name. */
export function tarballName(platform: Platform): string {
  return `logfleet-${packageVersion()}-${platform}`;
}
