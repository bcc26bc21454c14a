/**
 * HTML for the page of `logfleet ui`, including its styles and script. In a published package, it is the file
 * `dist/page.html`. In a checkout, esbuild bundles it when the command starts.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Metafile } from 'esbuild';
import { inPackage } from '../command/package-folder.ts';

/** File that contains the page in a published package. */
export const builtPage = 'dist/page.html';
const sources = 'src/cli/ui/page';

export async function pageHtml(): Promise<string> {
  const built = inPackage(builtPage);
  return existsSync(built) ? readFile(built, 'utf8') : (await buildPage()).html;
}

export interface BuiltPage {
  readonly html: string;
  /** Output files of esbuild, each with the list of its sources. */
  readonly outputs: Metafile['outputs'];
}

/** Builds the page from the sources in a checkout. */
export async function buildPage(): Promise<BuiltPage> {
  const { build } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    absWorkingDir: inPackage(''),
    entryPoints: [inPackage(`${sources}/app.tsx`)],
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
  const [html, styles] = await Promise.all(
    ['page.html', 'page.css'].map((name) => readFile(inPackage(`${sources}/${name}`), 'utf8')),
  );
  const filled = (html ?? '')
    .replace('<style></style>', () => `<style>${styles}</style>`)
    .replace('<script type="module"></script>', () => `<script type="module">${outputFiles[0]?.text}</script>`);
  return { html: filled, outputs: metafile.outputs };
}
