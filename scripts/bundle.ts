/**
 * Bundles the program and its npm packages for publication, because Node runs no TypeScript below `node_modules`. A checkout needs no
 * bundle.
 *
 * The bundle is `dist/main.js` with one chunk for each part of the program that is loaded later. A single file would have to be compiled
 * at each start, which takes 0.3 s. The clients of object stores are chunks that only an export to such a store loads. `dist/page.html` has the
 * page of `logfleet ui`.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';
import { buildPage, builtPage } from '../src/cli/ui/page-html.ts';

const root = join(import.meta.dirname, '..');

/** Defines `require` for the npm packages in CommonJS format, because an ES module has no `require`. */
const requireInModules =
  "import { createRequire as logfleetCreateRequire } from 'node:module'; const require = logfleetCreateRequire(import.meta.url);";

/**
 * Lets `await import()` of an npm package in CommonJS format return the same named exports as in Node. Without this plugin, the result has
 * only the export `default`.
 */
const namedExports: Plugin = {
  name: 'named-exports',
  setup({ onLoad, onResolve, resolve }) {
    onResolve({ filter: /^/ }, async ({ path, kind, resolveDir, namespace }) => {
      if (kind !== 'dynamic-import' || namespace !== 'file') return undefined;
      const found = await resolve(path, { kind: 'import-statement', resolveDir });
      if (found.external || isModule(found.path)) return undefined;
      return { path: relative(root, found.path), namespace: 'named-exports' };
    });
    onLoad({ filter: /^/, namespace: 'named-exports' }, async ({ path }) => {
      const names = Object.keys(await import(pathToFileURL(join(root, path)).href));
      const exported = names.filter((name) => name !== 'module.exports').join(', ');
      return { contents: `export { ${exported} } from './${path}';`, resolveDir: root };
    });
  },
};

/** True if a file is an ES module, and not CommonJS. */
function isModule(file: string): boolean {
  return /^(?:import|export)\b/m.test(readFileSync(file, 'utf8'));
}

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
  plugins: [namedExports],
  minify: true,
  // The bundle does not need esbuild, because only a checkout builds the page of `logfleet ui` at its start.
  external: ['esbuild'],
  // Keeps the names of functions and classes readable in stack traces.
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
  const write = (path: string, contents: string | Uint8Array) => {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, contents);
  };
  for (const { path, contents } of outputFiles) write(relative(root, path), contents);
  const page = await buildPage();
  write(builtPage, page.html);
  return { ...metafile, outputs: { ...metafile.outputs, ...page.outputs } };
}
