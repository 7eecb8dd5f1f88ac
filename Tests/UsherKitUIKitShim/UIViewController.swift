public import FoundationEssentials

// The types of UIKit and SafariServices that the examples in the vendors' documentation use.

/// A view controller that shows nothing: it reports what it was asked to present.
@MainActor
open class UIViewController {
  /// The view controllers that this one was asked to present, in order.
  public let presentations: AsyncStream<UIViewController>
  private let presented: AsyncStream<UIViewController>.Continuation

  public init() { (presentations, presented) = AsyncStream.makeStream() }

  open func present(
    _ viewControllerToPresent: UIViewController, animated flag: Bool,
    completion: (() -> Void)? = nil
  ) {
    presented.yield(viewControllerToPresent)
    completion?()
  }
}

/// A view controller that would show a web page.
@MainActor
public final class SFSafariViewController: UIViewController {
  /// The address of the page. SafariServices has no such property.
  public let url: URL

  public init(url: URL) {
    self.url = url
    super.init()
  }
}
