public import FoundationEssentials

/// Shows a page to the person at this machine, in a browser of its own (RFC 8252 §8.12): what a
/// view controller does on a phone.
public protocol Presenter: AnyObject, Sendable {
  /// Opens the page and returns; what the person does there is told by the flow.
  func present(_ url: URL)
}
