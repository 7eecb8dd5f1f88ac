import Glibc

/// The browser of the desktop, by `xdg-open`.
///
/// Every user can read the command line of every process, and the address of a sign-in's page has
/// secrets in it. So the opener is given an address on this machine that leads there once.
package struct DesktopBrowser: Browser {
  private let environment: [String: String]

  package init(environment: [String: String]) { self.environment = environment }

  package func open(_ url: String) -> Bool {
    let hasScreen = ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false }
    guard hasScreen, url.hasPrefix("https://") || url.hasPrefix("http://"),
      let handoff = PageHandoff(to: url, for: getuid())
    else { return false }
    handoff.serve()
    let opener = Launch(arguments: ["xdg-open", handoff.url], files: [.null, .null, .null])
    return opener.start() != nil
  }
}
