import FoundationEssentials
import JSONRPC
import UsherAPI
package import UsherConfig
package import UsherCore

/// A call to Freedom ID in mode `oauth2`: the partner API (provider contract §4.2, §4.3).
package enum FreedomPartnerCall: ProviderCall {
  /// Requests a link to the page where the user approves the grants.
  ///
  /// - Parameter redirectURI: The redirect URI. The provider returns no `state`; the secret path
  ///   segment of the URI replaces it.
  case link(redirectURI: Secret, [PartnerGrant])
  case exchange(code: Secret)
  case renewal(Secret)
  /// Requests the user that a token belongs to, with the profile fields that the token covers.
  /// There is no account yet, so the call carries the token itself.
  case user(token: Secret)
  /// Asks another user for a profile.
  case profile(AccountID, ProfileRequest)
  case profileStatus(AccountID, request: String)
  case create(AccountID, PartnerUser)
  /// Changes the data of a user.
  ///
  /// - Parameter id: The user's id at Freedom ID.
  case update(AccountID, id: String, PartnerUser)

  package var name: String {
    switch self {
    case .link: "authorize"
    case .exchange, .renewal: "token"
    case .user: "user_info"
    case .profile: "profile"
    case .profileStatus: "profile_status"
    case .create, .update: "user"
    }
  }

  package var endpoint: ProviderEndpoint {
    switch self {
    case .exchange, .renewal: .token
    case .link, .user, .profile, .profileStatus, .create, .update: .other
    }
  }

  package var account: AccountID? {
    switch self {
    case .profile(let account, _), .profileStatus(let account, request: _), .create(let account, _),
      .update(let account, id: _, _):
      account
    case .link, .exchange, .renewal, .user: nil
    }
  }

  /// The personal data in the request. Texts of the reply that repeat it are not shown.
  var personalData: [Secret] {
    switch self {
    case .profile(_, let request):
      switch request.person {
      case .freedomID: []
      case .phone(let phone): [Secret(phone)]
      }
    case .create(_, let user), .update(_, id: _, let user): user.personalData
    case .link, .exchange, .renewal, .user, .profileStatus: []
    }
  }

  /// Returns whether Freedom ID refused the account's access token: by its error code, or by a 401
  /// without a code.
  package func refusesToken(_ reply: HTTPReply) -> Bool {
    guard account != nil, case .refused(let refusal) = FreedomIDReply(.reply(reply)) else {
      return false
    }
    return refusal.refusesToken || refusal.status == 401 && refusal.code == nil
  }
}

/// A request that asks another user for a profile.
package struct ProfileRequest: Codable, Sendable, Equatable {
  /// A UUID that identifies the request at Freedom ID; a repeated call has the same one.
  package var id: String
  package var createdAt: Timestamp
  package var person: Person
  package var grants: [DataGrant]

  package enum Person: Codable, Sendable, Equatable {
    case freedomID(String)
    case phone(String)
  }
}

/// A user's data that a partner sends to Freedom ID, and the params of the flow that does so.
/// Members that are nil are not sent.
package struct PartnerUser: Codable, Sendable, Equatable, SchemaDocumented {
  /// The user's phone number: `+` and 10 to 15 digits. The flow `createUser` requires it.
  package var phone: String?
  /// The user's e-mail address.
  package var email: String?
  /// The user's first name.
  package var firstname: String?
  /// The user's last name.
  package var lastname: String?
  /// The user's date of birth, as `YYYY-MM-DD`.
  package var dateOfBirth: String?
  /// The user's identifier, for example the citizen's ID.
  package var identifier: String?
  /// The user's country, as an ISO 3166-1 code of three letters: `KAZ`.
  package var country: String?
  /// The user's gender: `M` or `F`.
  package var gender: String?
  /// The user's nationality.
  package var nationality: String?

  /// The values to hide if a reply repeats them. Values of one or two characters and country codes
  /// are left out, because they occur in any text.
  fileprivate var personalData: [Secret] {
    [phone, email, firstname, lastname, dateOfBirth, identifier].compactMap(\.self)
      .filter { $0.count > 2 }.map { Secret($0) }
  }

  var members: [String: JSONValue] {
    let members = [
      "phone": phone, "email": email, "firstname": firstname, "lastname": lastname,
      "date_of_birth": dateOfBirth, "identifier": identifier, "country": country, "gender": gender,
      "nationality": nationality,
    ]
    return members.compactMapValues { $0.map { .string($0) } }
  }
}

extension FreedomPartnerCall {
  package func render(_ context: RenderContext<FreedomIDSettings>) throws(UsherError) -> HTTPRequest
  {
    let settings = context.provider.settings
    let paths = settings.paths
    switch self {
    case .link(let redirectURI, let grants):
      return .json(
        .post, paths.authorize.url(under: settings.baseURL),
        [
          "redirect_uri": .string(redirectURI.revealed()),
          "grants": .array(grants.map { .string($0.wire) }),
        ], [try .partner(context)], hiding: [redirectURI])
    case .exchange(let code):
      return .json(
        .post, paths.token.url(under: settings.baseURL),
        ["authorization_code": .string(code.revealed())], [try .partner(context)], hiding: [code])
    case .renewal(let token):
      return .json(.patch, paths.token.url(under: settings.baseURL), nil, [.bearer(token)])
    case .user(let token):
      return .json(.get, paths.userInfo.url(under: settings.baseURL), nil, [.bearer(token)])
    case .profile(_, let request):
      return .json(
        .post, paths.profile.url(under: settings.baseURL), request.members,
        [try .bearer(context)])
    case .profileStatus(_, let request):
      // The API expects a body on GET (provider contract §10, trap 10).
      return .json(
        .get, paths.profileStatus.url(under: settings.baseURL), ["request_id": .string(request)],
        [try .bearer(context)])
    case .create(_, let user):
      return .json(
        .post, paths.user.url(under: settings.apiBaseURL), user.members, [try .bearer(context)])
    case .update(_, let id, let user):
      return .json(
        .put, paths.user.url(under: settings.apiBaseURL),
        user.members.merging(["freedom_id": .string(id)]) { $1 }, [try .bearer(context)])
    }
  }
}

extension ProfileRequest {
  fileprivate var members: [String: JSONValue] {
    var members: [String: JSONValue] = [
      "request_id": .string(id), "created_at": .string(createdAt.description),
      "grants": .array(grants.map { .string($0.wire) }),
    ]
    switch person {
    case .freedomID(let id): members["freedom_id"] = .string(id)
    case .phone(let phone): members["phone"] = .string(phone)
    }
    return members
  }
}

extension HTTPRequest.Header {
  /// Returns Basic authentication as the partner API documents it: id and secret joined without
  /// encoding.
  fileprivate static func partner(_ context: RenderContext<FreedomIDSettings>) throws(UsherError)
    -> Self
  {
    guard let id = context.provider.settings.clientID, let secret = context.credential else {
      throw UsherError(
        .internalError, "provider \(context.provider.name) has no client id or client secret")
    }
    let pair = Data("\(id):\(secret.revealed())".utf8).base64EncodedString()
    return Self("Authorization", Secret("Basic \(pair)"))
  }
}
