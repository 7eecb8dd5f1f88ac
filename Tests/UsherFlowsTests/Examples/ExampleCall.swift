import JSONRPC
import UsherConfig
package import UsherCore

@testable package import UsherFlows

/// A call to a provider of type `example`. Rendering adds the API key.
package enum ExampleCall: ProviderCall {
  /// Opens a session for the holder of a badge. The provider keeps one session for each badge, so
  /// the call is safe to repeat.
  case session(badge: Secret)

  package var name: String {
    switch self {
    case .session: "session"
    }
  }

  package func render(_ context: RenderContext<ExampleSettings>) throws(UsherError) -> HTTPRequest {
    let settings = context.provider.settings
    let key = try context.credential(named: settings.apiKeyCredential)
    switch self {
    case .session(let badge):
      return .json(
        .post, settings.baseURL.text + "/sessions", ["badge": .string(badge.revealed())],
        [HTTPRequest.Header("X-API-Key", key)], hiding: [badge])
    }
  }
}
