/**
 * Configuration of VitePress, the generator of the documentation site. `scripts/docs-site.ts` copies this file into the folder that VitePress
 * builds, and calls `siteConfig` there.
 */
import { anchorOf } from './anchors.ts';
import { navigation } from './navigation.ts';

export interface Site {
  /** Path of the site on its web server. It begins and ends with a slash. */
  readonly base: string;
  /** Name of the version to build, which is also the name of its folder. */
  readonly version: string;
  /** Names of all versions of the site, newest first. */
  readonly versions: readonly string[];
  /** Title of each page that this version has, by the path of the page. */
  readonly titles: Readonly<Record<string, string>>;
}

export function siteConfig({ base, version, versions, titles }: Site): object {
  return {
    title: 'logfleet',
    description: 'A Kubernetes operator that upgrades log collectors and exports search results',
    base: `${base}${version}/`,
    lang: 'en',
    lastUpdated: false,
    markdown: { html: false, linkify: false, anchor: { slugify: anchorOf } },
    themeConfig: {
      search: { provider: 'local' },
      outline: [2, 3],
      externalLinkIcon: true,
      nav: [
        {
          text: version,
          // VitePress puts its base before a link that begins with a slash, so `/../` leads to the folders of other versions.
          items: versions.map((each) => ({ text: each, link: `/../${each}/`, target: '_self' })),
        },
      ],
      sidebar: navigation.map(({ title, pages }) => ({
        text: title,
        items: pages.flatMap((page) => {
          const text = titles[page];
          return text === undefined ? [] : [{ text, link: `/${page.replace(/\.md$/, '')}` }];
        }),
      })),
    },
  };
}
