/** Configuration of VitePress, the generator of the documentation site. */
import { anchorOf } from './anchors.ts';
import { navigation } from './navigation.ts';

export interface Site {
  /** Path of the site on its web server. It begins and ends with a slash. */
  readonly base: string;
  /** Name of both the version and its folder. */
  readonly version: string;
  /** Names of all versions of the site, newest first. */
  readonly versions: readonly string[];
  /** Titles of this version's pages, by path. */
  readonly titles: Readonly<Record<string, string>>;
}

export function siteConfig({ base, version, versions, titles }: Site): object {
  return {
    title: 'logfleet',
    description: 'Kubernetes operator that upgrades log collectors of a hosted log service, and exports search results',
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
          // VitePress prefixes the link with the base path of the current version. `/../` leaves that path, so the link
          // leads to another version.
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
