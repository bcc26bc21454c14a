/**
 * Installs a tool's npm packages into the cache, in the versions given by the `package-lock.json` in the tool's folder.
 */
import { execFile } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cached } from './cache.ts';
import { startStep } from './progress.ts';
import { modulesDirectory } from './versions.ts';

export interface NpmTool {
  /** Name of the folder in `tools/`. */
  readonly folder: string;
  /** Name of the tool's main package. */
  readonly mainPackage: string;
  /** Description of what is installed, such as `Azurite 3.37.0 with npm, 245 MB`. */
  readonly describe: (version: string) => string;
  /** Returns an error message that says what to do. */
  readonly explain: (version: string, reason: string) => string;
}

/** Installs the npm packages of a tool if they are missing. Returns the path of their `node_modules`. */
export async function npmModules(tool: NpmTool): Promise<string> {
  const directory = await cached(tool.folder, npmToolVersion(tool), (target) => install(tool, target));
  return join(directory, 'node_modules');
}

/** Returns the version of the tool's main package in its package.json. */
export function npmToolVersion({ folder, mainPackage }: NpmTool): string {
  return JSON.parse(readFileSync(join(modulesDirectory, folder, 'package.json'), 'utf8')).dependencies[mainPackage];
}

async function install(tool: NpmTool, directory: string): Promise<void> {
  const version = npmToolVersion(tool);
  const step = startStep(`installing ${tool.describe(version)}, only once on this machine`);
  try {
    for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
      copyFileSync(join(modulesDirectory, tool.folder, name), join(directory, name));
    }
    await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--loglevel=error'], { cwd: directory });
    step.end('done');
  } catch (cause) {
    throw new Error(tool.explain(version, (cause as Error).message), { cause });
  } finally {
    step.end();
  }
}
