"""A typed client of Floorgate; the types of its results are in `models`, of bodies in `params`."""

from floorgate_client.async_resources import AsyncFloorgate as AsyncFloorgate
from floorgate_client.errors import ChangesExpiredError as ChangesExpiredError
from floorgate_client.errors import ConnectionFailedError as ConnectionFailedError
from floorgate_client.errors import FlagRequiredError as FlagRequiredError
from floorgate_client.errors import FloorgateError as FloorgateError
from floorgate_client.errors import ForbiddenError as ForbiddenError
from floorgate_client.errors import InvalidInputError as InvalidInputError
from floorgate_client.errors import NotFoundError as NotFoundError
from floorgate_client.errors import PermissionRequiredError as PermissionRequiredError
from floorgate_client.errors import PreconditionFailedError as PreconditionFailedError
from floorgate_client.errors import RateLimitedError as RateLimitedError
from floorgate_client.errors import ResponseError as ResponseError
from floorgate_client.errors import UnauthenticatedError as UnauthenticatedError
from floorgate_client.errors import UnavailableError as UnavailableError
from floorgate_client.resources import Floorgate as Floorgate
