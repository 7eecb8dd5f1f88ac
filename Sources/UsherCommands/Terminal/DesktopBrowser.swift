import Glibc

/// Opens pages in the browser of the desktop, with `xdg-open`.
///
/// Every user can read the command line of every process, and the URL of a sign-in page contains
/// secrets. `xdg-open` therefore gets a local URL that redirects to the page once.
enum DesktopBrowser {
  static func open(_ url: String, environment: [String: String]) -> Bool {
    let hasScreen = ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false }
    guard hasScreen, url.hasPrefix("https://") || url.hasPrefix("http://"),
      let handoff = PageHandoff(to: url, for: getuid())
    else { return false }
    handoff.serve()
    let opener = ProgramLaunch(arguments: ["xdg-open", handoff.url], files: [.null, .null, .null])
    return opener.start() != nil
  }
}
