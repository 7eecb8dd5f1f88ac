/// The browser of the desktop, by `xdg-open`.
package struct DesktopBrowser: Browser {
  private let environment: [String: String]

  package init(environment: [String: String]) { self.environment = environment }

  package func open(_ url: String) -> Bool {
    let hasScreen = ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false }
    guard hasScreen, url.hasPrefix("https://") || url.hasPrefix("http://") else { return false }
    return Launch(arguments: ["xdg-open", url], files: [.null, .null, .null]).start() != nil
  }
}
