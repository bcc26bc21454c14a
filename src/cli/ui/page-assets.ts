/**
 * Files of the page that `logfleet ui` serves: HTML, styles and one script. A published package has them in `dist/page/`. In a checkout,
 * esbuild bundles the script in memory when the command starts.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Metafile } from 'esbuild';
import { inPackage } from '../package-folder.ts';

export interface PageAsset {
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** Files of the page, by their names. */
export interface PageFiles {
  readonly 'page.html': Uint8Array;
  readonly 'page.css': Uint8Array;
  readonly 'page.js': Uint8Array;
}

/** Folder of the files in a published package, relative to its package.json. */
export const builtPage = 'dist/page';
const sources = 'src/cli/ui/page';

/** Returns the files of the page by their path in a URL. */
export async function pageAssets(): Promise<ReadonlyMap<string, PageAsset>> {
  const files = existsSync(inPackage(builtPage)) ? await readBuiltPage() : (await buildPage()).files;
  return new Map([
    ['/', { contentType: 'text/html; charset=utf-8', body: files['page.html'] }],
    ['/page.css', { contentType: 'text/css; charset=utf-8', body: files['page.css'] }],
    ['/page.js', { contentType: 'text/javascript; charset=utf-8', body: files['page.js'] }],
  ]);
}

async function readBuiltPage(): Promise<PageFiles> {
  const read = (name: keyof PageFiles) => readFile(inPackage(`${builtPage}/${name}`));
  return { 'page.html': await read('page.html'), 'page.css': await read('page.css'), 'page.js': await read('page.js') };
}

export interface BuiltPage {
  readonly files: PageFiles;
  /** esbuild's list of the bundled files, which include files of npm packages. */
  readonly outputs: Metafile['outputs'];
}

/** Makes the files of the page from the sources in a checkout. */
export async function buildPage(): Promise<BuiltPage> {
  const { build } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    absWorkingDir: inPackage(''),
    entryPoints: [inPackage(`${sources}/main.tsx`)],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2023',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'silent',
    metafile: true,
    write: false,
  });
  const files = {
    'page.html': await readFile(inPackage(`${sources}/page.html`)),
    'page.css': await readFile(inPackage(`${sources}/page.css`)),
    'page.js': outputFiles[0]?.contents ?? new Uint8Array(),
  };
  return { files, outputs: metafile.outputs };
}
