/** Provides VitePress, the generator of the documentation site, from the cache or npm. */
import { type NpmTool, npmModules } from './npm-packages.ts';

const vitepress: NpmTool = {
  folder: 'docs-site',
  mainPackage: 'vitepress',
  describe: (version) => `VitePress ${version} with npm, 100 MB`,
  explain: (version, reason) =>
    `The documentation site needs VitePress ${version}, which npm cannot install (${reason}). Give this machine access to an ` +
    'npm registry, and run this command again.',
};

/**
 * Installs VitePress if it is missing, and returns the path of the `node_modules` that contains it. Error messages say
 * what to do.
 */
export function vitepressPackages(): Promise<string> {
  return npmModules(vitepress);
}
