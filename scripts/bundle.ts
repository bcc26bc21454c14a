/**
 * Bundles the program and its npm packages for publication, because Node runs no TypeScript below `node_modules`. A checkout needs no
 * bundle.
 *
 * The bundle is `dist/main.js` with one chunk for each part of the program that is loaded later. A single file would have to be compiled
 * at each start, which takes 0.3 s. `dist/page/` has the page of `logfleet ui`. The clients of object stores are chunks that only an export to such a store loads.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { type BuildOptions, build, type Metafile } from 'esbuild';
import { buildPage, builtPage } from '../src/cli/ui/page-assets.ts';

const root = join(import.meta.dirname, '..');

/** Gives npm packages in CommonJS format the `require` that a module of an ES bundle lacks. */
const requireInModules =
  "import { createRequire as logfleetCreateRequire } from 'node:module'; const require = logfleetCreateRequire(import.meta.url);";

const programOptions = {
  absWorkingDir: root,
  entryPoints: ['src/main.ts'],
  outdir: 'dist',
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  banner: { js: requireInModules },
  minify: true,
  // Only a checkout builds the page of `logfleet ui` when it is needed.
  external: ['esbuild'],
  // Stack traces show the names of functions and classes.
  keepNames: true,
  // The sources are published beside the bundle.
  sourcemap: 'linked',
  sourcesContent: false,
  // The packages' licenses are published in one file.
  legalComments: 'none',
  logLevel: 'warning',
} satisfies BuildOptions;

/**
 * Writes the bundle of the program to `dist/` in a folder. Returns esbuild's list of the bundled files. The same sources give the same
 * bytes in every folder.
 */
export async function bundleProgram(folder: string): Promise<Metafile> {
  const { outputFiles, metafile } = await build({ ...programOptions, metafile: true, write: false });
  const write = (path: string, contents: Uint8Array) => {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, contents);
  };
  for (const { path, contents } of outputFiles) write(relative(root, path), contents);
  for (const [name, contents] of Object.entries(await buildPage())) write(join(builtPage, name), contents);
  return metafile;
}
