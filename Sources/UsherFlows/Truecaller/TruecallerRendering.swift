import JSONRPC
package import UsherConfig
package import UsherCore

extension TruecallerCall {
  package func render(_ context: RenderContext<TruecallerSettings>) throws(UsherError)
    -> HTTPRequest
  {
    let settings = context.provider.settings
    let paths = settings.paths
    switch self {
    case .create(let number, let installation):
      return .json(
        .post, paths.create.url(under: settings.otpBaseURL),
        number.members.merging(settings.common(installation)) { own, _ in own },
        try Self.headers(context), hiding: [Secret(installation)])
    case .verify(let number, let code, let token):
      var body = number.members
      body["secretToken"] = .string(code.revealed())
      body["verificationToken"] = .string(token.revealed())
      return .json(
        .post, paths.verify.url(under: settings.otpBaseURL), body, try Self.headers(context),
        hiding: [token])
    case .validate(let token): return try Self.validation(of: token, context)
    case .update(let name, let number, let token):
      let body: [String: JSONValue] = [
        "firstName": .string(name.first.unsealed().revealed()),
        "lastName": .string(name.last.unsealed().revealed()),
      ]
      return .json(
        .post, settings.profileURL(number), body, [.bearer(token)] + (try Self.headers(context)))
    case .profile(let number, let token):
      let headers = [HTTPRequest.Header.bearer(token)] + (try Self.headers(context))
      return .json(.get, settings.profileURL(number), nil, headers)
    case .keptProfile(let number, _):
      let headers = [try HTTPRequest.Header.bearer(context)] + (try Self.headers(context))
      return .json(.get, settings.profileURL(number), nil, headers)
    case .keys: return .json(.get, settings.keysURL, nil, [])
    }
  }

  private static func validation(
    of token: Secret, _ context: RenderContext<TruecallerSettings>
  ) throws(UsherError) -> HTTPRequest {
    let settings = context.provider.settings
    guard let (base, path) = settings.validationPlace else {
      throw UsherError(
        .internalError, "provider \(context.provider.name) has no validation configured")
    }
    let header =
      switch settings.validation {
      case .oauth: HTTPRequest.Header("clientId", public: settings.clientID ?? "")
      case .none, .legacy, .sdk28:
        HTTPRequest.Header("appKey", try context.requiredCredential())
      }
    let url = path.url(under: base, "accessToken", token.revealed())
    let method: HTTPRequest.Method = settings.validation == .legacy ? .post : .get
    return .json(method, url, nil, [header], hiding: [token])
  }

  /// Returns the headers that the calls create, verify and profile have in common (provider
  /// contract §1.3).
  private static func headers(
    _ context: RenderContext<TruecallerSettings>
  ) throws(UsherError) -> [HTTPRequest.Header] {
    let settings = context.provider.settings
    return [
      .init("appKey", try context.requiredCredential()), .init("appLink", public: settings.appLink),
      .init("sdkVersion", public: settings.sdkVersion), .init("sdkVariant", public: "native"),
    ]
  }
}

extension PhoneNumber {
  fileprivate var members: [String: JSONValue] {
    ["countryCodeName": .string(country), "phoneNumber": .string(national)]
  }
}

extension TruecallerSettings {
  /// The request members with which the SDK describes itself and its device (provider contract
  /// §1.3).
  fileprivate func common(_ installation: String) -> [String: JSONValue] {
    [
      "clientId": 16, "phonePermission": false, "os": "ios", "version": .string(appVersion),
      "sequence": 1, "deviceId": .string(installation), "simSerial": [.string(installation)],
    ]
  }

  fileprivate func profileURL(_ number: PhoneNumber) -> String {
    paths.profile.url(under: profileBase(of: number.country))
  }
}
