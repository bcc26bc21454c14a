/**
 * Provides VitePress, the generator of the documentation site. It is in the cache outside the checkout, or npm installs it there.
 * `tools/docs-site/package-lock.json` fixes all versions.
 */
import { execFile } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cached } from './cache.ts';
import { startStep } from './progress.ts';
import { modulesDirectory } from './versions.ts';

const packageDirectory = join(modulesDirectory, 'docs-site');

/** Returns the absolute path of a folder `node_modules` that contains VitePress. The message of an error says what to do. */
export async function vitepressPackages(): Promise<string> {
  return join(await cached('docs-site', vitepressVersion(), install), 'node_modules');
}

function vitepressVersion(): string {
  return JSON.parse(readFileSync(join(packageDirectory, 'package.json'), 'utf8')).dependencies.vitepress;
}

async function install(directory: string): Promise<void> {
  const step = startStep(`installing VitePress ${vitepressVersion()} with npm, 100 MB once on this machine`);
  try {
    for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
      copyFileSync(join(packageDirectory, name), join(directory, name));
    }
    await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--loglevel=error'], { cwd: directory });
    step.end('done');
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new Error(
      `The documentation site needs VitePress ${vitepressVersion()}, which npm cannot install (${reason}). Give this machine access ` +
        'to a registry of npm, and run this again.',
      { cause },
    );
  } finally {
    step.end();
  }
}
