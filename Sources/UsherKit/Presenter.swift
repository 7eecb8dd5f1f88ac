public import FoundationEssentials

/// Shows web pages to the person at this machine, in place of an iOS view controller.
///
/// The presenter must use the person's browser, not a web view of the program (RFC 8252 §8.12).
public protocol Presenter: AnyObject, Sendable {
  /// Opens the page and returns at once. The daemon's flow reports what the person does on the
  /// page.
  func present(_ url: URL)
}
