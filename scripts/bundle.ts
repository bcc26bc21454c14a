/**
 * Bundles the program and its npm packages for publication, because Node does not run TypeScript in `node_modules`.
 *
 * The bundle consists of several files, because compiling a single file would take 0.3 s at each start. `dist/main.js`
 * loads some of the other files only when they are needed. `dist/page.html` is the page of `logfleet ui`.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';
import { buildPage, builtPage } from '../src/cli/ui/page-html.ts';

const root = join(import.meta.dirname, '..');

/**
 * Line of code that defines `require`. npm packages in CommonJS format call this function, but ES modules do not have
 * it.
 */
const requireInModules =
  "import { createRequire as logfleetCreateRequire } from 'node:module'; const require = logfleetCreateRequire(import.meta.url);";

/** Plugin that makes `await import()` of a CommonJS package return the same named exports in the bundle as in Node. */
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

/** Reports whether a file is an ES module rather than CommonJS. */
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
  // esbuild is not bundled, because the program needs it only when it runs from a checkout.
  external: ['esbuild'],
  // Keeps names in stack traces readable.
  keepNames: true,
  // The source maps contain no copy of the sources, because the npm package already contains the sources.
  sourcemap: 'linked',
  sourcesContent: false,
  // The licenses of all packages are published in a separate file.
  legalComments: 'none',
  logLevel: 'warning',
} satisfies BuildOptions;

/**
 * Writes the bundle to `dist/` in a folder, and returns esbuild's list of the bundled files. The same sources give the
 * same bytes.
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
