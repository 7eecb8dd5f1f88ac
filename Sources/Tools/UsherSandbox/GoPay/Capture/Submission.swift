import FoundationEssentials

/// An app's request for the capture page.
struct CaptureRequest: Sendable, Hashable {
  enum Language: String, Sendable {
    case id
    case en
  }

  let type: String
  let language: Language
  let returnURL: ReturnURL?
  /// The value of `x-sdk-session-id`, in upper case.
  let session: String
  /// The value of `x-partner-session-id`.
  let partnerSession: String

  /// The kinds of capture that the partner may request.
  private static let types = ["FULL_KYC", "KTP_SCAN"]

  init(_ call: EndpointCall) throws {
    (session, partnerSession) = try call.captureSession()
    let query = try call.queryForm()
    guard let type = query["submissionType"], Self.types.contains(type) else {
      throw IdentityRefusal.invalid("submissionType is not \(Self.types.joined(separator: " or "))")
    }
    self.type = type
    guard let language = Language(rawValue: query["lang"] ?? "id") else {
      throw IdentityRefusal.invalid("lang is not id or en")
    }
    self.language = language
    returnURL = try query["returnUrl"].map { text in
      guard let url = ReturnURL(text), url.isLoopback || text.hasPrefix("https://") else {
        throw IdentityRefusal.invalid("returnUrl is not an https URL or an http URL on loopback")
      }
      return url
    }
  }

  func isSession(of other: CaptureRequest) -> Bool {
    session == other.session && partnerSession == other.partnerSession
  }
}

extension EndpointCall {
  /// Reads the headers `x-sdk-session-id` and `x-partner-session-id`.
  func captureSession() throws(IdentityRefusal) -> (session: String, partnerSession: String) {
    guard let session = UUID(uuidString: try identityHeader("x-sdk-session-id")) else {
      throw .invalid("x-sdk-session-id is not a UUID")
    }
    return (session.uuidString, try identityHeader("x-partner-session-id"))
  }
}

/// A customer's submission of card and face, and its state.
struct Submission: Sendable, Hashable {
  enum Capture: Sendable, Hashable {
    case open(card: Bool)
    case failed(CaptureError)
    case submitted(Date)
  }

  let id: String
  /// A number that increases with each submission and gives their order.
  let number: Int
  let person: GoPayPerson
  var request: CaptureRequest
  /// The linking token of the capture, which callbacks send as authorization by default.
  var link: String
  let created: Date
  var capture = Capture.open(card: false)
  /// The state that a test has set; nil if settings and time determine the state.
  var moved: KYC?
  var updated: Date?

  var submitted: Date? {
    switch capture {
    case .open, .failed: nil
    case .submitted(let date): date
    }
  }

  var status: String {
    switch capture {
    case .open: "CREATED"
    case .failed: "FAILED"
    case .submitted: "SUBMITTED"
    }
  }

  /// The submission as the capture host shows it.
  var members: [String: JSON] {
    var members: [String: JSON] = ["submissionId": .string(id), "status": .string(status)]
    if case .failed(let error) = capture {
      members["error"] = .string(error.rawValue)
      members["message"] = .string(error.message)
    }
    return members
  }
}

/// The reason why card and face were not submitted.
enum CaptureError: String, Sendable, CaseIterable {
  case camera = "CAMERA"
  case permission = "PERMISSION"
  case network = "NETWORK"
  case userCancelled = "USER_CANCELLED"
  case verification = "VERIFICATION"
  case helpClicked = "HELP_CLICKED"
  case security = "SECURITY"
  case api = "API"

  /// The label of the button on the capture page.
  var label: String {
    switch self {
    case .camera: "No camera"
    case .permission: "Camera permission denied"
    case .network: "Connection lost"
    case .userCancelled: "Cancel"
    case .verification: "Face does not match the card"
    case .helpClicked: "Help"
    case .security: "Device fails the security check"
    case .api: "GoPay service error"
    }
  }

  /// The message in the response of the capture host.
  var message: String {
    switch self {
    case .camera: "the camera is not available"
    case .permission: "permission to use the camera was denied"
    case .network: "the connection was lost"
    case .userCancelled: "the user cancelled"
    case .verification: "the face does not match the card"
    case .helpClicked: "the user asked for help"
    case .security: "the device did not pass the security check"
    case .api: "the service failed"
    }
  }
}
