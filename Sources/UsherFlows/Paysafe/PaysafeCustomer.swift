import JSONRPC
import UsherCore

extension PersonClaims {
  /// Reads the customer's claims from the ID token, or else from the access token, which Paysafe
  /// issues as a JWT.
  ///
  /// The signatures are not checked, because both tokens came directly from the token endpoint over
  /// TLS (OIDC Core §3.1.3.7 item 6).
  ///
  /// - Returns: Nil if neither token names a customer.
  /// - Throws: `UnusableReply` if the two tokens name different customers.
  init?(customerOf tokens: TokenSet) throws(UnusableReply) {
    let idTokenCustomer = Self.customer(tokens.idToken?.unsealed())
    let owner = Self.customer(tokens.accessToken.unsealed())
    switch (idTokenCustomer, owner) {
    case (let idTokenCustomer?, let owner?):
      guard idTokenCustomer.subject.hasSameBytes(as: owner.subject) else {
        throw UnusableReply("the provider's ID token and access token are for different people")
      }
      self = owner.merging(idTokenCustomer)
    case (let customer?, nil), (nil, let customer?): self = customer
    case (nil, nil): return nil
    }
  }

  private static func customer(_ token: Secret?) -> PersonClaims? {
    token.flatMap { JSONWebToken.claims(of: $0) }.flatMap { PersonClaims($0) }
  }
}

extension PaysafeLogin {
  /// Ends the flow with an account for the tokens, or with a failure that says why there is none.
  func finish(_ tokens: TokenSet) -> Answer<PaysafeCall> {
    do throws(UnusableReply) {
      guard let customer = try PersonClaims(customerOf: tokens) else {
        return .fail(.protocolError("the provider's tokens do not identify the customer"))
      }
      return finish(tokens, customer)
    } catch {
      return .fail(.protocolError(error.message))
    }
  }

  func finish(_ tokens: TokenSet, _ customer: PersonClaims) -> Answer<PaysafeCall> {
    guard account.map({ $0.subject.hasSameBytes(as: customer.subject) }) ?? true else {
      return .fail(.otherPerson)
    }
    return .finish(
      Completion(
        grant: AccountGrant(
          subject: customer.subject, label: customer.label,
          attributes: [PaysafeTokens.brandAttribute: .string(brand)], keepAlive: keepAlive,
          tokens: tokens)))
  }
}
