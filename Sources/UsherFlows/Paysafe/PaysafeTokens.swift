import JSONRPC
import UsherConfig
import UsherCore

/// How Paysafe's tokens are handled: they are refreshed at the brand's token endpoint and never
/// revoked, because there is no revocation endpoint (provider contract §2.2).
struct PaysafeTokens: TokenDialect {
  private let brand: String
  let isPublicClient: Bool

  /// Creates the dialect for an account.
  ///
  /// - Parameter attributes: The attributes of the account. They name the brand that the customer
  ///   belongs to.
  init(_ settings: PaysafeSettings, _ attributes: [String: JSONValue]) {
    brand = attributes[Self.brandAttribute]?.stringValue ?? settings.brandIdentity ?? ""
    isPublicClient = settings.clientCredential == nil
  }

  static let brandAttribute = "brandIdentity"

  func renewal(_ refreshToken: Secret, scope: String?) -> (any ProviderCall)? {
    PaysafeCall.refresh(refreshToken, brand: brand)
  }

  func flaw(in tokens: TokenSet, of subject: String, signIn: SignInClaims?) -> String? {
    do throws(UnusableReply) {
      guard let customer = try PersonClaims(customerOf: tokens) else { return nil }
      return customer.subject.hasSameBytes(as: subject)
        ? nil : "the provider's tokens are another customer's"
    } catch {
      return error.message
    }
  }
}
